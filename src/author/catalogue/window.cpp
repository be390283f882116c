#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::window(Number keys) {
  return [W = keys.integer_named("W")](Index, Index, Index q, Index kv) -> Value {
    return (kv <= q) & (q - kv < W);
  };
}

CatalogueEntry author::window_entry() {
  return {.name = "window",
          .kind = CatalogueKind::kMask,
          .formula = "0 <= q - kv < W",
          .meaning = "Each query sees W keys: itself and the W - 1 before it.",
          .reference = "Child et al. 2019; Mistral 7B (Jiang et al. 2023)",
          .parameters = {{"W", 64, "keys that a query sees, itself included", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::window(number(request, "W")));
          }};
}

}  // namespace tilewright
