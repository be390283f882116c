#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::pair_bias(Capture bias) {
  return [bias = std::move(bias)](Score s, Index, Index h, Index q, Index kv) -> Value {
    return s + bias(h, q, kv);
  };
}

CatalogueEntry author::pair_bias_entry() {
  return {.name = "pair_bias",
          .kind = CatalogueKind::kScore,
          .formula = "s + bias[h, q, kv]",
          .meaning = "A bias for every pair and head, shared by the batch.",
          .reference = "learned biases; PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest& request) {
            const Table bias = sampled({request.problem.query_heads, positions(request.problem),
                                        positions(request.problem)});
            return score_of(scores::pair_bias(bias.capture("bias")), {bias});
          }};
}

}  // namespace tilewright
