#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

#include <limits>

namespace tilewright {

ScoreMod scores::inverse_causal() {
  return [](Score s, Index, Index, Index q, Index kv) -> Value {
    return select(kv >= q, s, -std::numeric_limits<double>::infinity());
  };
}

CatalogueEntry author::inverse_causal_score_entry() {
  return {.name = "inverse_causal_score",
          .kind = CatalogueKind::kScore,
          .formula = "s if kv >= q else -inf",
          .meaning = "Each query sees itself and what follows, said as a score.",
          .reference = "PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest&) { return score_of(scores::inverse_causal()); }};
}

}  // namespace tilewright
