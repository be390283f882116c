#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::bias_batch(Capture bias) {
  return [bias = std::move(bias)](Score s, Index b, Index, Index, Index) -> Value {
    return s + bias[b];
  };
}

CatalogueEntry author::bias_batch_entry() {
  return {.name = "bias_batch",
          .kind = CatalogueKind::kScore,
          .formula = "s + bias[b]",
          .meaning = "A bias for each sequence of the batch.",
          .reference = "learned biases; PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest& request) {
            const Table bias = sampled({request.problem.batch});
            return score_of(scores::bias_batch(bias.capture("bias")), {bias});
          }};
}

}  // namespace tilewright
