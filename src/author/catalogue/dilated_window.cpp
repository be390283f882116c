#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::dilated_window(Number radius, Number dilation) {
  return [w = radius.integer_named("w"), d = dilation.integer_named("d")](Index, Index, Index q,
                                                                          Index kv) -> Value {
    const Value distance = abs(q - kv);
    return (distance <= w) & (floor_mod(distance, d) == 0);
  };
}

CatalogueEntry author::dilated_window_entry() {
  return {.name = "dilated_window",
          .kind = CatalogueKind::kMask,
          .formula = "|q - kv| <= w and |q - kv| % d == 0",
          .meaning = "Every d-th position up to distance w, in both directions.",
          .reference = "Beltagy et al. 2020 (Longformer)",
          .parameters = {{"w", 64, "greatest distance", false, {}},
                         {"d", 4, "step of the distances", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::dilated_window(number(request, "w"), number(request, "d")));
          }};
}

}  // namespace tilewright
