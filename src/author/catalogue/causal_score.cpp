#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

#include <limits>

namespace tilewright {

ScoreMod scores::causal() {
  return [](Score s, Index, Index, Index q, Index kv) -> Value {
    return select(kv <= q, s, -std::numeric_limits<double>::infinity());
  };
}

CatalogueEntry author::causal_score_entry() {
  return {.name = "causal_score",
          .kind = CatalogueKind::kScore,
          .formula = "s if kv <= q else -inf",
          .meaning = "The causal mask said as a score.",
          .reference = "PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest&) { return score_of(scores::causal()); }};
}

}  // namespace tilewright
