#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::relative() {
  return [](Score s, Index, Index, Index q, Index kv) -> Value { return s + (q - kv); };
}

CatalogueEntry author::relative_entry() {
  return {.name = "relative",
          .kind = CatalogueKind::kScore,
          .formula = "s + (q - kv)",
          .meaning = "Adds the distance to the key.",
          .reference = "FlexAttention (Dong et al. 2024)",
          .parameters = {},
          .build = [](const CatalogueRequest&) { return score_of(scores::relative()); }};
}

}  // namespace tilewright
