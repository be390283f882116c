#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include <algorithm>

#include "author/catalogue/sliding_tile.h"

namespace tilewright {

MaskMod masks::sta_3d(Number depth, Number height, Number width, Number kernel, Number tile) {
  return [D = depth.integer_named("D"), H = height.integer_named("H"), W = width.integer_named("W"),
          k = kernel.integer_named("k"),
          t = tile.integer_named("t")](Index, Index, Index q, Index kv) -> Value {
    const Value video = Value(D) * H * W * t;
    const Value query = floor_div(q, t);
    const Value key = floor_div(kv, t);
    const Value area = Value(H) * W;
    const Value near = author::in_tile_window(floor_div(query, area), floor_div(key, area), D, k) &
                       author::in_tile_window(floor_mod(floor_div(query, W), H),
                                              floor_mod(floor_div(key, W), H), H, k) &
                       author::in_tile_window(floor_mod(query, W), floor_mod(key, W), W, k);
    return near | (kv >= video) | (q >= video);
  };
}

CatalogueEntry author::sta_3d_entry() {
  return {.name = "sta_3d",
          .kind = CatalogueKind::kMask,
          .formula =
              "the tile rule of sta_2d on D x H x W tiles of t tokens; text behind the video sees "
              "all and is seen by all",
          .meaning = "Sliding tile attention on video with text at the end of the sequence.",
          .reference = "Zhang et al. 2025 (Sliding Tile Attention)",
          .parameters = {{"D", 2, "tiles along time", false, {}},
                         {"H", 3, "tiles along height", false, {}},
                         {"W", 3, "tiles along width", false, {}},
                         {"k", 2, "tiles along a window", false, {}},
                         {"t", 8, "tokens of a tile", false,
                          [](const Problem& problem) {
                            return static_cast<double>(
                                std::max<std::int64_t>(author::positions(problem) / 20, 1));
                          }}},
          .build = [](const CatalogueRequest& request) {
            return mask_of(masks::sta_3d(number(request, "D"), number(request, "H"),
                                         number(request, "W"), number(request, "k"),
                                         number(request, "t")));
          }};
}

}  // namespace tilewright
