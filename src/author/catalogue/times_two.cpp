#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::times_two() {
  return [](Score s, Index, Index, Index, Index) -> Value { return s * 2; };
}

CatalogueEntry author::times_two_entry() {
  return {.name = "times_two",
          .kind = CatalogueKind::kScore,
          .formula = "2 s",
          .meaning = "Doubles every score.",
          .reference = "PyTorch test_flex_attention",
          .parameters = {},
          .build = [](const CatalogueRequest&) { return score_of(scores::times_two()); }};
}

}  // namespace tilewright
