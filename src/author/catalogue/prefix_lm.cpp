#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::prefix_lm(Number prefix) {
  return [p = prefix.integer_named("p")](Index, Index, Index q, Index kv) -> Value {
    return (kv < p) | (kv <= q);
  };
}

CatalogueEntry author::prefix_lm_entry() {
  return {.name = "prefix_lm",
          .kind = CatalogueKind::kMask,
          .formula = "kv < p or kv <= q",
          .meaning = "Every query sees the prefix; behind it attention is causal.",
          .reference = "Raffel et al. 2020 (T5), prefix LM",
          .parameters = {{"p", 32, "length of the prefix", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::prefix_lm(number(request, "p")));
          }};
}

}  // namespace tilewright
