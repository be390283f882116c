#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::sigmoid_window(Number width, Number temperature) {
  return [W = width.integer_named("W"), t = temperature.real_named("t")](
             Score s, Index, Index, Index q, Index kv) -> Value {
    // log(sigmoid(x)) = -softplus(-x), which stays finite far outside the window.
    return s - softplus((abs(q - kv) - W) / t);
  };
}

CatalogueEntry author::sigmoid_window_entry() {
  return {.name = "sigmoid_window",
          .kind = CatalogueKind::kScore,
          .formula = "s + log(sigmoid((W - |q - kv|) / t))",
          .meaning = "A window whose edge is about t positions wide.",
          .reference = "Sukhbaatar et al. 2019 (adaptive span), smooth form",
          .parameters = {{"W", 16, "distance at which half the weight is left", false, {}},
                         {"t", 4, "width of the edge", true, {}}},
          .build = [](const CatalogueRequest& request) {
            return score_of(scores::sigmoid_window(number(request, "W"), number(request, "t")));
          }};
}

}  // namespace tilewright
