#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::scale_head_query(Capture weights) {
  return [w = std::move(weights)](Score s, Index, Index h, Index q, Index) -> Value {
    return s * w(h, q);
  };
}

CatalogueEntry author::scale_head_query_entry() {
  return {.name = "scale_head_query",
          .kind = CatalogueKind::kScore,
          .formula = "s * w[h, q]",
          .meaning = "A learned temperature for each head and query.",
          .reference = "PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest& request) {
            const Table weights =
                sampled({request.problem.query_heads, positions(request.problem)});
            return score_of(scores::scale_head_query(weights.capture("w")), {weights});
          }};
}

}  // namespace tilewright
