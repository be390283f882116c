#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

#include <vector>

namespace tilewright {

ScoreMod scores::graphormer_edge(Capture weights, Capture types) {
  return [w = std::move(weights), type = std::move(types)](Score s, Index b, Index h, Index q,
                                                           Index kv) -> Value {
    const Vector steps = type[b][q][kv];
    std::vector<Value> terms;
    for (std::size_t n = 0; n < steps.size(); ++n) terms.push_back(w(h, n, steps[n]));
    return s + mean(Vector(terms));
  };
}

CatalogueEntry author::graphormer_edge_entry() {
  return {.name = "graphormer_edge",
          .kind = CatalogueKind::kScore,
          .formula = "s + mean over path steps n of w[h, n, type[b, q, kv, n]]",
          .meaning = "A learned bias for the edges on the path between two nodes of a graph.",
          .reference = "Ying et al. 2021 (Graphormer)",
          .parameters = {{"n", 3, "steps of a path", false, {}},
                         {"types", 5, "types of edges", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const std::int64_t steps = count(request, "n");
            const Table weights =
                sampled({request.problem.query_heads, steps, count(request, "types")});
            const Table types = sampled_integers({request.problem.batch, positions(request.problem),
                                                  positions(request.problem), steps},
                                                 count(request, "types"));
            return score_of(scores::graphormer_edge(weights.capture("w"), types.capture("type")),
                            {weights, types});
          }};
}

}  // namespace tilewright
