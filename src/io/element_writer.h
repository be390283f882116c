#pragma once

#include "io/output_file.h"
#include "tilewright/tensor.h"

namespace tilewright::io {

/// Writes a CPU tensor's elements in row-major order, whatever its strides.
void write_elements(OutputFile& file, const TensorView& view);

}  // namespace tilewright::io
