#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include "author/catalogue/sliding_tile.h"

namespace tilewright {

MaskMod masks::sta_2d(Number width, Number height, Number tile, Number kernel) {
  return [W = width.integer_named("W"), H = height.integer_named("H"), t = tile.integer_named("t"),
          k = kernel.integer_named("k")](Index, Index, Index q, Index kv) -> Value {
    const Value area = Value(t) * t;
    const Value tiles_x = floor_div(W, t);
    const Value tiles_y = floor_div(H, t);
    const Value query = floor_div(q, area);
    const Value key = floor_div(kv, area);
    return author::in_tile_window(floor_mod(query, tiles_x), floor_mod(key, tiles_x), tiles_x, k) &
           author::in_tile_window(floor_div(query, tiles_x), floor_div(key, tiles_x), tiles_y, k);
  };
}

CatalogueEntry author::sta_2d_entry() {
  return {
      .name = "sta_2d",
      .kind = CatalogueKind::kMask,
      .formula =
          "per axis c = clamp(tile(q), k // 2, tiles - 1 - (k - 1) // 2), tile(kv) in [c - k // 2, "
          "c + (k - 1) // 2]",
      .meaning =
          "Sliding tile attention on a canvas stored tile by tile: whole tiles see whole tiles.",
      .reference = "Zhang et al. 2025 (Sliding Tile Attention)",
      .parameters = {{"W", 8, "width of the canvas", false,
                      [](const Problem& problem) {
                        return static_cast<double>(author::tiled_grid_edge(problem, 4));
                      }},
                     {"H", 8, "height of the canvas", false,
                      [](const Problem& problem) {
                        return static_cast<double>(author::tiled_grid_edge(problem, 4));
                      }},
                     {"t", 4, "edge of a tile", false, {}},
                     {"k", 2, "tiles along a window", false, {}}},
      .build = [](const CatalogueRequest& request) {
        return mask_of(masks::sta_2d(number(request, "W"), number(request, "H"),
                                     number(request, "t"), number(request, "k")));
      }};
}

}  // namespace tilewright
