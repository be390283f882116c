#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::soft_window(Number width, Number slope) {
  return [W = width.integer_named("W"), a = slope.real_named("a")](Score s, Index, Index, Index q,
                                                                   Index kv) -> Value {
    return s - a * max(abs(q - kv) - W, 0);
  };
}

CatalogueEntry author::soft_window_entry() {
  return {.name = "soft_window",
          .kind = CatalogueKind::kScore,
          .formula = "s - a * max(|q - kv| - W, 0)",
          .meaning = "Free up to distance W, then a penalty that grows linearly.",
          .reference = "soft windows",
          .parameters = {{"W", 16, "distance without a penalty", false, {}},
                         {"a", 0.25, "penalty for a step past W", true, {}}},
          .build = [](const CatalogueRequest& request) {
            return score_of(scores::soft_window(number(request, "W"), number(request, "a")));
          }};
}

}  // namespace tilewright
