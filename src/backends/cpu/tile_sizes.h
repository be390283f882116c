#pragma once

#include <cstdint>

#include "kernels/cpu/micro_kernel.h"

namespace tilewright::cpu {

/// Sizes of the tile loop for one micro-kernel. Measurements: docs/kernels/cpu_tiles.md.
struct TileSizes {
  std::int64_t score_rows = 0;  ///< rows of a score tile, which stays in the nearest cache
  std::int64_t q_rows = 0;      ///< rows of an item, which share a packed kv tile in the next cache
  std::int64_t kv_tokens = 0;   ///< keys of a packed kv tile
  std::int64_t band_rows = 0;   ///< rows that have one list of spans in a mask map
  std::int64_t row_unit = 1;    ///< as in ForwardCall, as is the next
  std::int64_t step_price_pairs = 0;
};

TileSizes tile_sizes(const MicroKernel& kernel);

}  // namespace tilewright::cpu
