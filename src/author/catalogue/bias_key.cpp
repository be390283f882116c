#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::bias_key(Capture bias) {
  return [bias = std::move(bias)](Score s, Index, Index, Index, Index kv) -> Value {
    return s + bias[kv];
  };
}

CatalogueEntry author::bias_key_entry() {
  return {.name = "bias_key",
          .kind = CatalogueKind::kScore,
          .formula = "s + bias[kv]",
          .meaning = "A bias for each key position.",
          .reference = "learned biases; PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest& request) {
            const Table bias = sampled({positions(request.problem)});
            return score_of(scores::bias_key(bias.capture("bias")), {bias});
          }};
}

}  // namespace tilewright
