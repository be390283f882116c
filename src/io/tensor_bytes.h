#pragma once

#include <cstdint>
#include <optional>

#include "tilewright/dtype.h"
#include "tilewright/tensor.h"

namespace tilewright::io {

/// Bytes of a contiguous tensor; absent for a negative extent or a product past int64.
std::optional<std::int64_t> checked_size_bytes(const Dims& shape, DType dtype);

}  // namespace tilewright::io
