#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::swin_2d(Capture table, Number window) {
  return [table = std::move(table), w = window.integer_named("w")](Score s, Index, Index h, Index q,
                                                                   Index kv) -> Value {
    const Value area = Value(w) * w;
    const Value query = floor_mod(q, area);
    const Value key = floor_mod(kv, area);
    const Value dy = floor_div(query, w) - floor_div(key, w) + w - 1;
    const Value dx = floor_mod(query, w) - floor_mod(key, w) + w - 1;
    return s + table(h, dy * (Value(w) * 2 - 1) + dx);
  };
}

CatalogueEntry author::swin_2d_entry() {
  return {.name = "swin_2d",
          .kind = CatalogueKind::kScore,
          .formula = "s + table[h, (dy + w - 1) (2 w - 1) + dx + w - 1]",
          .meaning = "A learned bias for the two distances inside a window of w x w positions.",
          .reference = "Liu et al. 2021 (Swin Transformer)",
          .parameters = {{"w", 7, "edge of the window", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const std::int64_t side = 2 * count(request, "w") - 1;
            const Table table = sampled({request.problem.query_heads, side * side});
            return score_of(scores::swin_2d(table.capture("table"), number(request, "w")), {table});
          }};
}

}  // namespace tilewright
