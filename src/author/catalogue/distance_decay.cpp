#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::distance_decay(Number rate) {
  return [a = rate.real_named("a")](Score s, Index, Index, Index q, Index kv) -> Value {
    return s - a * abs(q - kv);
  };
}

CatalogueEntry author::distance_decay_entry() {
  return {.name = "distance_decay",
          .kind = CatalogueKind::kScore,
          .formula = "s - a * |q - kv|",
          .meaning = "A penalty that grows with distance, the same in every head.",
          .reference = "PyTorch test_flex_flash",
          .parameters = {{"a", 0.0625, "penalty for a step", true, {}}},
          .build = [](const CatalogueRequest& request) {
            return score_of(scores::distance_decay(number(request, "a")));
          }};
}

}  // namespace tilewright
