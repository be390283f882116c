#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

#include <algorithm>

namespace tilewright {

ScoreMod scores::mla_rope(Capture query_rope, Capture key_rope, Number group, Number scale) {
  return [qr = std::move(query_rope), kr = std::move(key_rope), G = group.integer_named("G"),
          c = scale.real_named("c")](Score s, Index b, Index h, Index q, Index kv) -> Value {
    const Vector query = qr[b][h][q];
    const Vector key = kr[b][floor_div(h, G)][kv];
    return s + c * dot(query, key);
  };
}

CatalogueEntry author::mla_rope_entry() {
  return {
      .name = "mla_rope",
      .kind = CatalogueKind::kScore,
      .formula = "s + c * dot(qr[b, h, q, :], kr[b, h // G, kv, :])",
      .meaning = "The rotary term of latent attention, added to the score of its compressed part.",
      .reference = "DeepSeek-V2 (2024), multi-head latent attention",
      .parameters = {{"n", 8, "length of the rotary vectors", false, {}},
                     {"G", 1, "query heads that share a rotary key", false, {}},
                     {"c", 0.125, "scale of the term", true, {}}},
      .build = [](const CatalogueRequest& request) {
        const std::int64_t shared =
            (request.problem.query_heads - 1) / std::max<std::int64_t>(count(request, "G"), 1) + 1;
        const Table query = sampled({request.problem.batch, request.problem.query_heads,
                                     positions(request.problem), count(request, "n")});
        const Table key = sampled(
            {request.problem.batch, shared, positions(request.problem), count(request, "n")});
        return score_of(scores::mla_rope(query.capture("qr"), key.capture("kr"),
                                         number(request, "G"), number(request, "c")),
                        {query, key});
      }};
}

}  // namespace tilewright
