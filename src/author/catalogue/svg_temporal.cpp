#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::svg_temporal(Number text, Number frame, Number distance) {
  return [P = text.integer_named("P"), F = frame.integer_named("F"),
          D = distance.integer_named("D")](Index, Index, Index q, Index kv) -> Value {
    const Value apart = floor_mod(q - P, F) - floor_mod(kv - P, F);
    return (q < P) | (kv < P) | (abs(apart) < D);
  };
}

CatalogueEntry author::svg_temporal_entry() {
  return {
      .name = "svg_temporal",
      .kind = CatalogueKind::kMask,
      .formula = "q < P or kv < P or |(q - P) % F - (kv - P) % F| < D",
      .meaning = "Temporal heads of video attention: text, and the same place in every frame.",
      .reference = "Xi et al. 2025 (Sparse VideoGen)",
      .parameters = {{"P", 8, "text tokens before the video", false, {}},
                     {"F", 24, "tokens of a frame", false, {}},
                     {"D", 4, "distance inside a frame from which a key is not seen", false, {}}},
      .build = [](const CatalogueRequest& request) {
        return mask_of(
            masks::svg_temporal(number(request, "P"), number(request, "F"), number(request, "D")));
      }};
}

}  // namespace tilewright
