#pragma once

#include <cstdint>

#include "tilewright/tensor.h"

namespace tilewright {

/// Reads element `offset` (in elements, from view.data) of a floating tensor; exact.
double read_real(const TensorView& view, std::int64_t offset);

/// Reads element `offset` of an integer or bool tensor (any non-zero byte of a bool is 1).
std::int64_t read_integer(const TensorView& view, std::int64_t offset);

/// Writes, rounding to nearest even.
void write_real(const TensorView& view, std::int64_t offset, double value);

/// A subscript after the one wrap of a negative index (semantics R8); the result may still be
/// outside [0, extent).
inline std::int64_t wrap_index(std::int64_t index, std::int64_t extent) {
  return index < 0 ? index + extent : index;
}

}  // namespace tilewright
