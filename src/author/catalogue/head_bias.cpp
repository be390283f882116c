#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::head_bias() {
  return [](Score s, Index, Index h, Index, Index) -> Value { return s + h * 2; };
}

CatalogueEntry author::head_bias_entry() {
  return {.name = "head_bias",
          .kind = CatalogueKind::kScore,
          .formula = "s + 2 h",
          .meaning = "A constant for each head.",
          .reference = "FlexAttention benchmark",
          .parameters = {},
          .build = [](const CatalogueRequest&) { return score_of(scores::head_bias()); }};
}

}  // namespace tilewright
