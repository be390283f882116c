#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::bias_query(Capture bias) {
  return [bias = std::move(bias)](Score s, Index, Index, Index q, Index) -> Value {
    return s + bias[q];
  };
}

CatalogueEntry author::bias_query_entry() {
  return {.name = "bias_query",
          .kind = CatalogueKind::kScore,
          .formula = "s + bias[q]",
          .meaning = "A bias for each query position; softmax is blind to it, lse is not.",
          .reference = "learned biases; PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest& request) {
            const Table bias = sampled({positions(request.problem)});
            return score_of(scores::bias_query(bias.capture("bias")), {bias});
          }};
}

}  // namespace tilewright
