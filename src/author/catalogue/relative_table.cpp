#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::relative_table(Capture table, Number max_distance) {
  return [table = std::move(table), m = max_distance.integer_named("m")](
             Score s, Index, Index h, Index q, Index kv) -> Value {
    return s + table(h, clamp(q - kv, -Value(m), m) + m);
  };
}

CatalogueEntry author::relative_table_entry() {
  return {.name = "relative_table",
          .kind = CatalogueKind::kScore,
          .formula = "s + table[h, clamp(q - kv, -m, m) + m]",
          .meaning = "A learned bias for each distance up to m.",
          .reference = "Shaw et al. 2018",
          .parameters = {{"m", 32, "distance past which the bias stays", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const Table table = sampled({request.problem.query_heads, 2 * count(request, "m") + 1});
            return score_of(scores::relative_table(table.capture("table"), number(request, "m")),
                            {table});
          }};
}

}  // namespace tilewright
