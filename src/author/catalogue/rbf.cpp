#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

#include <vector>

namespace tilewright {

ScoreMod scores::rbf(Capture weights, Capture centres, Number gamma) {
  return [w = std::move(weights), c = std::move(centres), g = gamma.real_named("g")](
             Score s, Index, Index h, Index q, Index kv) -> Value {
    const Vector heights = w[h];
    const Vector places = c.entries();
    std::vector<Value> terms;
    for (std::size_t k = 0; k < places.size(); ++k) {
      const Value apart = (q - kv) - places[k];
      terms.push_back(heights[k] * exp(-(apart * apart) * g));
    }
    return s + sum(Vector(terms));
  };
}

CatalogueEntry author::rbf_entry() {
  return {.name = "rbf",
          .kind = CatalogueKind::kScore,
          .formula = "s + sum over centres k of w[h, k] * exp(-((q - kv) - c[k])^2 g)",
          .meaning = "A learned smooth function of the distance.",
          .reference = "PyTorch issue 152593",
          .parameters = {{"n", 4, "centres", false, {}}, {"g", 0.0078125, "sharpness", true, {}}},
          .build = [](const CatalogueRequest& request) {
            const std::int64_t centres = count(request, "n");
            const Table weights = sampled({request.problem.query_heads, centres});
            Table places(DType::kF32, {centres});
            for (std::int64_t k = 0; k < centres; ++k)
              places.set(k, static_cast<double>(8 * k - 4 * centres));
            return score_of(
                scores::rbf(weights.capture("w"), places.capture("c"), number(request, "g")),
                {weights, places});
          }};
}

}  // namespace tilewright
