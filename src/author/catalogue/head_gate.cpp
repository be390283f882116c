#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

namespace tilewright {

ScoreMod scores::head_gate(Capture gates) {
  return [g = std::move(gates)](Score s, Index, Index h, Index, Index) -> Value {
    return s * sigmoid(g[h]);
  };
}

CatalogueEntry author::head_gate_entry() {
  return {.name = "head_gate",
          .kind = CatalogueKind::kScore,
          .formula = "s * sigmoid(g[h])",
          .meaning = "A learned gate for each head.",
          .reference = "attention-gym issue 20",
          .parameters = {},
          .build = [](const CatalogueRequest& request) {
            const Table gates = sampled({request.problem.query_heads});
            return score_of(scores::head_gate(gates.capture("g")), {gates});
          }};
}

}  // namespace tilewright
