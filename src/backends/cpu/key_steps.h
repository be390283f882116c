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
  bool operator==(const KeyStep&) const = default;
};

/// Appends the steps of the item's rows in one query block of the map (without a map: of all its
/// rows), in key order.
/// @param alignment  steps start at multiples of it inside a kv tile (1 for direct calls)
void append_key_steps(const ForwardCall& call, const WorkItem& item, std::int64_t q_block,
                      std::int64_t alignment, std::vector<KeyStep>& steps);

}  // namespace tilewright::cpu
