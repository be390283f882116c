#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::svg_spatial(Number text, Number frame, Number distance) {
  return [P = text.integer_named("P"), F = frame.integer_named("F"),
          D = distance.integer_named("D")](Index, Index, Index q, Index kv) -> Value {
    return (q < P) | (kv < Value(P) + F) | (abs(q - kv) < D);
  };
}

CatalogueEntry author::svg_spatial_entry() {
  return {.name = "svg_spatial",
          .kind = CatalogueKind::kMask,
          .formula = "q < P or kv < P + F or |q - kv| < D",
          .meaning = "Spatial heads of video attention: text, the first frame, and near frames.",
          .reference = "Xi et al. 2025 (Sparse VideoGen)",
          .parameters = {{"P", 8, "text tokens before the video", false, {}},
                         {"F", 24, "tokens of a frame", false, {}},
                         {"D", 32, "distance from which a key is not seen", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::svg_spatial(number(request, "P"), number(request, "F"),
                                              number(request, "D")));
          }};
}

}  // namespace tilewright
