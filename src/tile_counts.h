#pragma once

#include "tilewright/mask_map.h"

namespace tilewright {

/// Tiles of the map's query block by `kv_block` key tokens, over all (b, h) of the map: a tile that
/// spans do not touch is empty, one that full spans cover is full. O(spans).
TileCounts count_tiles(const MaskMap& map, std::int64_t kv_block);

}  // namespace tilewright
