#pragma once

#include <cstdint>

#include "backends/cuda/backward_rows.h"
#include "tilewright/problem.h"

namespace tilewright::cuda {

/// How attention/capture_gradients.cuh is instantiated beside a backward row, for a problem's dtype
/// and dims.
struct CaptureShape {
  int query_tile = 128;
  int slab_columns = 0;  ///< 0: operands lie in shared memory whole
  int copy_bytes = 16;
  bool walks_lists = false;       ///< key tiles come from span lists
  bool ordered_pairs = false;     ///< pairs that may meet anywhere are added in a fixed order
  std::int64_t shared_bytes = 0;  ///< CaptureLayout::kBytes

  static constexpr int kKeyTile = 64;
  int threads() const noexcept { return 2 * query_tile; }
};

CaptureShape capture_shape(const BackwardRow& row, const Problem& problem,
                           bool ordered_pairs) noexcept;

}  // namespace tilewright::cuda
