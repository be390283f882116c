#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::full_bias(Capture bias) {
  return [bias = std::move(bias)](Score s, Index b, Index h, Index q, Index kv) -> Value {
    return s + bias(b, h, q, kv);
  };
}

CatalogueEntry author::full_bias_entry() {
  return {.name = "full_bias",
          .kind = CatalogueKind::kScore,
          .formula = "s + bias[b, h, q, kv]",
          .meaning = "A bias for every pair, head and sequence.",
          .reference = "learned biases; PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest& request) {
            const Table bias = sampled({request.problem.batch, request.problem.query_heads,
                                        positions(request.problem), positions(request.problem)});
            return score_of(scores::full_bias(bias.capture("bias")), {bias});
          }};
}

}  // namespace tilewright
