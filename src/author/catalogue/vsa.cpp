#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

#include <algorithm>

namespace tilewright {

MaskMod masks::vsa(Number tile, Capture selected, Capture sizes) {
  return [t = tile.integer_named("t"), selected = std::move(selected), size = std::move(sizes)](
             Index, Index h, Index q, Index kv) -> Value {
    const Index key_tile = floor_div(kv, t);
    return selected(h, floor_div(q, t), key_tile) & (floor_mod(kv, t) < size[key_tile]);
  };
}

CatalogueEntry author::vsa_entry() {
  return {
      .name = "vsa",
      .kind = CatalogueKind::kMask,
      .formula = "selected[h, q // t, kv // t] and kv % t < size[kv // t]",
      .meaning =
          "Tiles of keys chosen for each tile of queries by a coarse pass; short tiles are padded.",
      .reference = "Zhang et al. 2025 (VSA, FastWan)",
      .parameters = {{"t", 16, "positions of a tile", false, {}},
                     {"n", 3, "one tile of n is chosen", false, {}}},
      .build = [](const CatalogueRequest& request) {
        const std::int64_t tile = std::max<std::int64_t>(count(request, "t"), 1);
        const std::int64_t tiles = (positions(request.problem) + tile - 1) / tile;
        const Table selected = sampled_truths({request.problem.query_heads, tiles, tiles},
                                              std::max<std::int64_t>(count(request, "n"), 1));
        Table sizes(DType::kI32, {tiles});
        for (std::int64_t i = 0; i < tiles; ++i)
          sizes.set(i, std::max<std::int64_t>(tile - i % 3, 1));
        return mask_of(
            masks::vsa(number(request, "t"), selected.capture("selected"), sizes.capture("size")),
            {selected, sizes});
      }};
}

}  // namespace tilewright
