#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::identity() {
  return [](Score s, Index, Index, Index, Index) -> Value { return s; };
}

CatalogueEntry author::identity_entry() {
  return {.name = "identity",
          .kind = CatalogueKind::kScore,
          .formula = "s",
          .meaning = "Plain attention.",
          .reference = "Vaswani et al. 2017",
          .parameters = {},
          .build = [](const CatalogueRequest&) { return score_of(scores::identity()); }};
}

}  // namespace tilewright
