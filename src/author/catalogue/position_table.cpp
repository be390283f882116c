#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::position_table(Capture query_table, Capture key_table) {
  return [p = std::move(query_table), r = std::move(key_table)](
             Score s, Index, Index, Index q, Index kv) -> Value { return s + p[q] * r[kv]; };
}

CatalogueEntry author::position_table_entry() {
  return {.name = "position_table",
          .kind = CatalogueKind::kScore,
          .formula = "s + p[q] * r[kv]",
          .meaning = "A bias of rank one from two tables of positions.",
          .reference = "PyTorch test_flex_flash",
          .parameters = {},
          .build = [](const CatalogueRequest& request) {
            const Table query = sampled({positions(request.problem)});
            const Table key = sampled({positions(request.problem)});
            return score_of(scores::position_table(query.capture("p"), key.capture("r")),
                            {query, key});
          }};
}

}  // namespace tilewright
