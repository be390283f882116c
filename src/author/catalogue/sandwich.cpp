#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

ScoreMod scores::sandwich(Capture distances, Number offset, Number heads) {
  return [T = std::move(distances), o = offset.integer_named("o"), H = heads.integer_named("H")](
             Score s, Index, Index h, Index q, Index kv) -> Value {
    return s + T[q - kv + o] * true_div(H, (h + 1) * 8);
  };
}

CatalogueEntry author::sandwich_entry() {
  return {
      .name = "sandwich",
      .kind = CatalogueKind::kScore,
      .formula =
          "s + T[q - kv + o] * H / (8 (h + 1)), T[o + d] = sum over frequencies w of cos(d w)",
      .meaning = "A bias made of sinusoids of the distance.",
      .reference = "Chi et al. 2023 (Sandwich)",
      .parameters = {{"H", 8, "query heads", false,
                      [](const Problem& problem) {
                        return static_cast<double>(std::max<std::int64_t>(problem.query_heads, 1));
                      }},
                     {"f", 16, "frequencies", false, {}}},
      .build = [](const CatalogueRequest& request) {
        const std::int64_t most = positions(request.problem) - 1;
        const double frequencies = static_cast<double>(count(request, "f"));
        Table distances(DType::kF32, {2 * most + 1});
        for (std::int64_t i = 0; i <= 2 * most; ++i) {
          double total = 0;
          for (double f = 0; f < frequencies; ++f)
            total += std::cos(static_cast<double>(i - most) / std::pow(10000.0, f / frequencies));
          distances.set(i, total);
        }
        return score_of(
            scores::sandwich(distances.capture("T"), Number("o", most), number(request, "H")),
            {distances});
      }};
}

}  // namespace tilewright
