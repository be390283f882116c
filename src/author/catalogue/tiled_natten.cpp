#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include "author/catalogue/neighbourhood.h"

namespace tilewright {

MaskMod masks::tiled_natten(Number width, Number height, Number kernel, Number tile) {
  return
      [W = width.integer_named("W"), H = height.integer_named("H"), k = kernel.integer_named("k"),
       t = tile.integer_named("t")](Index, Index, Index q, Index kv) -> Value {
        const auto point = [&](const Index& position) -> author::GridPoint {
          const Value area = Value(t) * t;
          const Value tile_index = floor_div(position, area);
          const Value inside = floor_mod(position, area);
          const Value tiles_a_row = floor_div(W, t);
          return {floor_mod(tile_index, tiles_a_row) * t + floor_mod(inside, t),
                  floor_div(tile_index, tiles_a_row) * t + floor_div(inside, t)};
        };
        return author::in_neighbourhood(point(q), point(kv), {W, H}, k);
      };
}

CatalogueEntry author::tiled_natten_entry() {
  return {
      .name = "tiled_natten",
      .kind = CatalogueKind::kMask,
      .formula = "natten_2d after (x, y) = tile-major position with tiles of t x t",
      .meaning =
          "Neighbourhood attention on a grid stored tile by tile, so that neighbours share tiles.",
      .reference = "attention-gym, tiled NATTEN",
      .parameters = {{"W", 8, "width of the grid", false,
                      [](const Problem& problem) {
                        return static_cast<double>(author::tiled_grid_edge(problem, 4));
                      }},
                     {"H", 8, "height of the grid", false,
                      [](const Problem& problem) {
                        return static_cast<double>(author::tiled_grid_edge(problem, 4));
                      }},
                     {"k", 5, "edge of the window", false, {}},
                     {"t", 4, "edge of a tile, a divisor of W and H", false, {}}},
      .build = [](const CatalogueRequest& request) {
        return mask_of(masks::tiled_natten(number(request, "W"), number(request, "H"),
                                           number(request, "k"), number(request, "t")));
      }};
}

}  // namespace tilewright
