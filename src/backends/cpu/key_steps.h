#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/work_items.h"

namespace tilewright::cpu {

/// One pass of the tile loop: a stretch of keys inside one kv tile.
struct KeyStep {
  std::int64_t kv_begin =
      0;  ///< storage row of column 0; inside a kv tile a multiple of the step alignment
  std::int64_t cols = 0;       ///< columns to compute
  std::int64_t col_begin = 0;  ///< live columns are [col_begin, col_end)
  std::int64_t col_end = 0;
  bool masked = false;
};

/// The steps of an item, in key order; `steps` is cleared first and keeps its capacity.
/// @param alignment  steps start at multiples of it inside a kv tile (1 for direct calls)
void list_key_steps(const ForwardCall& call, const WorkItem& item, std::int64_t alignment,
                    std::vector<KeyStep>& steps);

}  // namespace tilewright::cpu
