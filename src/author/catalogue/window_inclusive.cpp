#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::window_inclusive(Number keys_back) {
  return [w = keys_back.integer_named("w")](Index, Index, Index q, Index kv) -> Value {
    return (kv <= q) & (q - kv <= w);
  };
}

CatalogueEntry author::window_inclusive_entry() {
  return {.name = "window_inclusive",
          .kind = CatalogueKind::kMask,
          .formula = "0 <= q - kv <= w",
          .meaning =
              "Each query sees w + 1 keys: itself and the w before it. The convention of "
              "FlexAttention examples.",
          .reference = "FlexAttention (Dong et al. 2024)",
          .parameters = {{"w", 64, "keys before the query that it sees", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::window_inclusive(number(request, "w")));
          }};
}

}  // namespace tilewright
