#pragma once

#include <nanobind/ndarray.h>

#include <optional>

#include "tilewright/tensor.h"

namespace nb = nanobind;

namespace tilewright::python {

/// The dtype of a DLPack element type; absent where it is not served.
std::optional<DType> known_dtype(nb::dlpack::dtype type) noexcept;

/// The device of a DLPack device; absent where it is neither a CPU's nor CUDA's.
std::optional<Device> known_device(int type, int ordinal) noexcept;

}  // namespace tilewright::python
