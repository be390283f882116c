#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::softcap(Number cap) {
  return [c = cap.real_named("c")](Score s, Index, Index, Index, Index) -> Value {
    return c * tanh(s / c);
  };
}

CatalogueEntry author::softcap_entry() {
  return {.name = "softcap",
          .kind = CatalogueKind::kScore,
          .formula = "c * tanh(s / c)",
          .meaning = "Keeps every score inside (-c, c), smoothly.",
          .reference = "Gemma 2 (2024)",
          .parameters = {{"c", 20, "bound of the scores", true, {}}},
          .build = [](const CatalogueRequest& request) {
            return score_of(scores::softcap(number(request, "c")));
          }};
}

}  // namespace tilewright
