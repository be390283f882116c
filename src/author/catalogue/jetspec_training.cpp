#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::jetspec_training(Number prefix, Number block) {
  return [p = prefix.integer_named("p"), n = block.integer_named("n")](Index, Index, Index q,
                                                                       Index kv) -> Value {
    const Value key = kv - p;
    const Value same_block = floor_div(q, n) == floor_div(key, n);
    return (kv < p) | (same_block & (floor_mod(key, n) <= floor_mod(q, n)));
  };
}

CatalogueEntry author::jetspec_training_entry() {
  return {.name = "jetspec_training",
          .kind = CatalogueKind::kMask,
          .formula = "kv < p or (q // n == (kv - p) // n and (kv - p) % n <= q % n)",
          .meaning =
              "Drafted blocks of n tokens trained together: each sees the prefix and its own past.",
          .reference = "JetSpec",
          .parameters = {{"p", 16, "positions of the prefix", false, {}},
                         {"n", 8, "positions of a block", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::jetspec_training(number(request, "p"), number(request, "n")));
          }};
}

}  // namespace tilewright
