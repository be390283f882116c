#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::activation(Number floor) {
  return [N = floor.real_named("N")](Score s, Index, Index, Index, Index) -> Value {
    const Value active = relu(s);
    return log(active * active + N);
  };
}

CatalogueEntry author::activation_entry() {
  return {
      .name = "activation",
      .kind = CatalogueKind::kScore,
      .formula = "log(relu(s)^2 + N)",
      .meaning = "With out * exp(lse) - N * sum(value) it turns softmax into a plain activation.",
      .reference = "attention-gym, activation attention",
      .parameters = {{"N", 1.0, "keeps the logarithm finite", true, {}}},
      .build = [](const CatalogueRequest& request) {
        return score_of(scores::activation(number(request, "N")));
      }};
}

}  // namespace tilewright
