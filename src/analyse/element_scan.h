#pragma once

#include <cstdint>

#include "analyse/interval.h"
#include "tilewright/tensor.h"

namespace tilewright::analyse {

/// `count` elements of a tensor, at least one, `stride` elements apart, from element `offset`.
struct ElementRun {
  std::int64_t offset = 0;
  std::int64_t stride = 0;
  std::int64_t count = 0;
};

/// Range of the elements of a run.
Interval scan(const TensorView& view, const ElementRun& run);

/// Whether no element of a run is smaller than the one before it. NaN is never in order.
bool is_ascending(const TensorView& view, const ElementRun& run);

/// The type that a load of this dtype yields.
ir::Type element_type(DType dtype);

}  // namespace tilewright::analyse
