#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::squared() {
  return [](Score s, Index, Index, Index, Index) -> Value { return s * s; };
}

CatalogueEntry author::squared_entry() {
  return {.name = "squared",
          .kind = CatalogueKind::kScore,
          .formula = "s * s",
          .meaning = "Squares every score.",
          .reference = "PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest&) { return score_of(scores::squared()); }};
}

}  // namespace tilewright
