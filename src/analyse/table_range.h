#pragma once

#include "analyse/interval.h"
#include "tilewright/tensor.h"

namespace tilewright::analyse {

/// What an element of this dtype can hold at most, whatever the tensor holds.
Interval dtype_range(DType dtype);

/// Smallest and largest element of a tensor on the CPU, by one pass; dtype_range of a tensor that
/// is empty, unbound or on another device.
Interval table_range(const TensorView& view);

}  // namespace tilewright::analyse
