#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::scattered_causal(Number period) {
  return [n = period.integer_named("n")](Index, Index, Index q, Index kv) -> Value {
    return (kv <= q) & (floor_mod(q + kv, n) != 0);
  };
}

CatalogueEntry author::scattered_causal_entry() {
  return {.name = "scattered_causal",
          .kind = CatalogueKind::kMask,
          .formula = "kv <= q and (q + kv) % n != 0",
          .meaning = "Causal with holes along anti-diagonals.",
          .reference = "PyTorch test_flex_attention",
          .parameters = {{"n", 5, "one anti-diagonal of n is a hole", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::scattered_causal(number(request, "n")));
          }};
}

}  // namespace tilewright
