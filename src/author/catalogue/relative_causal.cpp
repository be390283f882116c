#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

#include <limits>

namespace tilewright {

ScoreMod scores::relative_causal() {
  return [](Score s, Index, Index, Index q, Index kv) -> Value {
    return select(kv <= q, s + (q - kv), -std::numeric_limits<double>::infinity());
  };
}

CatalogueEntry author::relative_causal_entry() {
  return {.name = "relative_causal",
          .kind = CatalogueKind::kScore,
          .formula = "s + (q - kv) if kv <= q else -inf",
          .meaning = "Adds the distance to the key and is causal.",
          .reference = "PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest&) { return score_of(scores::relative_causal()); }};
}

}  // namespace tilewright
