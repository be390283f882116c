#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/block_operands.h"

namespace tilewright::cpu {

/// Keys of a strip that a row block meets in one go.
struct StripStep {
  std::int64_t kv_begin = 0;   ///< storage row of column 0
  std::int64_t cols = 0;       ///< columns to compute
  std::int64_t col_begin = 0;  ///< live columns are [col_begin, col_end)
  std::int64_t col_end = 0;
  bool masked = false;
};

/// The steps of a row block against the keys of a strip; none where they have no live pair. Without
/// block lists there is at most one: the hull of what the block's rows see, masked unless all of
/// them see all of it. `steps` is cleared first and keeps its capacity.
/// @param alignment  steps start at multiples of it inside the strip
void list_strip_steps(const BackwardCall& call, const BlockPlace& place, TokenRange keys,
                      std::int64_t alignment, std::vector<StripStep>& steps);

}  // namespace tilewright::cpu
