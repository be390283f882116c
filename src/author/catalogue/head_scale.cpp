#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::head_scale(Capture weights) {
  return
      [w = std::move(weights)](Score s, Index, Index h, Index, Index) -> Value { return s * w[h]; };
}

CatalogueEntry author::head_scale_entry() {
  return {.name = "head_scale",
          .kind = CatalogueKind::kScore,
          .formula = "s * w[h]",
          .meaning = "A learned temperature for each head.",
          .reference = "PyTorch test_flex_flash",
          .parameters = {},
          .build = [](const CatalogueRequest& request) {
            const Table weights = sampled({request.problem.query_heads});
            return score_of(scores::head_scale(weights.capture("w")), {weights});
          }};
}

}  // namespace tilewright
