#pragma once

#include <cstdint>

#include "tilewright/problem.h"

namespace tilewright::cuda {

/// How attention/capture_gradients.cuh is instantiated for a problem's dims.
struct CaptureShape {
  int query_tile = 128;
  bool ordered_pairs = false;     ///< pairs that may meet anywhere are added in a fixed order
  std::int64_t shared_bytes = 0;  ///< CaptureLayout::kBytes

  static constexpr int kKeyTile = 64;
  int threads() const noexcept { return 2 * query_tile; }
};

CaptureShape capture_shape(const Problem& problem, bool ordered_pairs) noexcept;

}  // namespace tilewright::cuda
