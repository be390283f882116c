#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::sasa(Number width, Number radius) {
  return [W = width.integer_named("W"), w = radius.integer_named("w")](Index, Index, Index q,
                                                                       Index kv) -> Value {
    const Value dx = floor_mod(q, W) - floor_mod(kv, W);
    const Value dy = floor_div(q, W) - floor_div(kv, W);
    return (abs(dx) <= w) & (abs(dy) <= w);
  };
}

CatalogueEntry author::sasa_entry() {
  return {.name = "sasa",
          .kind = CatalogueKind::kMask,
          .formula = "|dx| <= w and |dy| <= w",
          .meaning =
              "A square of positions around the query on a grid of width W; it shrinks at an edge.",
          .reference = "Ramachandran et al. 2019 (Stand-Alone Self-Attention)",
          .parameters = {{"W", 8, "width of the grid", false,
                          [](const Problem& problem) {
                            return static_cast<double>(author::grid_edge(problem));
                          }},
                         {"w", 2, "greatest distance on each axis", false, {}}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::sasa(number(request, "W"), number(request, "w")));
          }};
}

}  // namespace tilewright
