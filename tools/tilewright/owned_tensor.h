#pragma once

#include <cstdint>
#include <memory>

#include "tilewright/tensor.h"

namespace tilewright::cli {

/// A tensor on the CPU with its memory, aligned to 64 bytes. Copies share the memory.
struct OwnedTensor {
  std::shared_ptr<void> memory;
  TensorView view;
};

/// Zeros, row-major. Throws Error for a shape whose bytes nobody has.
OwnedTensor make_tensor(DType dtype, const Dims& shape);
/// Zeros under any strides, negative and overlapping ones too.
OwnedTensor make_strided_tensor(DType dtype, const Dims& shape, const Dims& strides);

/// A row-major copy in another dtype; floating tensors only, rounded to nearest even.
OwnedTensor converted(const TensorView& source, DType dtype);
/// Copies element by element between equal shapes and dtypes.
void copy_elements(const TensorView& source, const TensorView& target);

/// Standard normal values from a seed, the same on every machine.
void fill_normal(const TensorView& view, std::uint64_t seed);

/// Offset in elements of element number `flat` in row-major order.
std::int64_t strided_offset(const TensorView& view, std::int64_t flat);

/// Rows [begin, end) of axis `axis`, without copying.
TensorView sliced(const TensorView& view, std::size_t axis, std::int64_t begin, std::int64_t end);

}  // namespace tilewright::cli
