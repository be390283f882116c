#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::graphormer_spatial(Capture bias, Capture distances) {
  return [bias = std::move(bias), dist = std::move(distances)](Score s, Index b, Index h, Index q,
                                                               Index kv) -> Value {
    return s + bias(h, dist(b, q, kv));
  };
}

CatalogueEntry author::graphormer_spatial_entry() {
  return {.name = "graphormer_spatial",
          .kind = CatalogueKind::kScore,
          .formula = "s + bias[h, dist[b, q, kv]]",
          .meaning = "A learned bias for the distance of two nodes in a graph.",
          .reference = "Ying et al. 2021 (Graphormer)",
          .parameters = {{"n", 12, "distances", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const Table bias = sampled({request.problem.query_heads, count(request, "n")});
            const Table distances = sampled_integers(
                {request.problem.batch, positions(request.problem), positions(request.problem)},
                count(request, "n"));
            return score_of(
                scores::graphormer_spatial(bias.capture("bias"), distances.capture("dist")),
                {bias, distances});
          }};
}

}  // namespace tilewright
