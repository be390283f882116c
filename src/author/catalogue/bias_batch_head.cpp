#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::bias_batch_head(Capture bias) {
  return [bias = std::move(bias)](Score s, Index b, Index h, Index, Index) -> Value {
    return s + bias(b, h);
  };
}

CatalogueEntry author::bias_batch_head_entry() {
  return {.name = "bias_batch_head",
          .kind = CatalogueKind::kScore,
          .formula = "s + bias[b, h]",
          .meaning = "A bias for each head of each sequence.",
          .reference = "learned biases; PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest& request) {
            const Table bias = sampled({request.problem.batch, request.problem.query_heads});
            return score_of(scores::bias_batch_head(bias.capture("bias")), {bias});
          }};
}

}  // namespace tilewright
