#pragma once

#include <vector>

#include "analyse/interval.h"
#include "ir/program.h"
#include "tilewright/tensor.h"

namespace tilewright::analyse {

/// What an element of this dtype can hold at most, whatever the tensor holds.
Interval dtype_range(DType dtype);

/// Smallest and largest element of a tensor on the CPU, by one pass; dtype_range of a tensor that
/// is empty, unbound or on another device.
Interval table_range(const TensorView& view);

/// The captures whose contents can reach an integer, and with it a subscript or a divisor: those of
/// integers, and floats that are cast. Truths and other floats decide values alone, and a pass over
/// them at every call would prove nothing.
std::vector<bool> captures_that_reach_integers(const ir::Program& program);

}  // namespace tilewright::analyse
