#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

#include <algorithm>

namespace tilewright {

ScoreMod scores::alibi(Number heads) {
  return [H = heads.integer_named("H")](Score s, Index, Index h, Index q, Index kv) -> Value {
    const Value slope = exp2(true_div((h + 1) * -8, H));
    return s + (kv - q) * slope;
  };
}

CatalogueEntry author::alibi_entry() {
  return {
      .name = "alibi",
      .kind = CatalogueKind::kScore,
      .formula = "s + (kv - q) * 2^(-8 (h + 1) / H)",
      .meaning = "A penalty that grows with distance, at a rate of its own in each head.",
      .reference = "Press et al. 2022 (ALiBi)",
      .parameters = {{"H", 8, "query heads", false,
                      [](const Problem& problem) {
                        return static_cast<double>(std::max<std::int64_t>(problem.query_heads, 1));
                      }}},
      .build = [](const CatalogueRequest& request) {
        return score_of(scores::alibi(number(request, "H")));
      }};
}

}  // namespace tilewright
