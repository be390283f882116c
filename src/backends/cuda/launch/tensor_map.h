#pragma once

#include <cstdint>
#include <string>

#include "backends/cuda/driver/driver.h"
#include "tilewright/tensor.h"

namespace tilewright::cuda {

/// Why the copy engine cannot read a [B, H, rows, columns] tensor of 16-bit elements where it lies;
/// empty where it can. PTX ISA, "Tensors": bases and strides are multiples of 16 bytes, columns lie
/// together.
std::string tensor_map_rejection(const TensorView& tensor, const char* name);

/// A rank-4 map [columns, rows, heads, batches] with boxes of 64 columns by `box_rows`, 128-byte
/// swizzle and zeros outside. A tensor without elements gives a map of one row that nothing reads.
/// Throws Error{kDevice} where the driver refuses.
void encode_tensor_map(const Driver& driver, const TensorView& tensor, std::uint32_t box_rows,
                       const char* name, TensorMap& map);

}  // namespace tilewright::cuda
