#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::bias_head(Capture bias) {
  return [bias = std::move(bias)](Score s, Index, Index h, Index, Index) -> Value {
    return s + bias[h];
  };
}

CatalogueEntry author::bias_head_entry() {
  return {.name = "bias_head",
          .kind = CatalogueKind::kScore,
          .formula = "s + bias[h]",
          .meaning = "A learned constant for each head.",
          .reference = "learned biases; PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest& request) {
            const Table bias = sampled({request.problem.query_heads});
            return score_of(scores::bias_head(bias.capture("bias")), {bias});
          }};
}

}  // namespace tilewright
