#pragma once

#include <memory>
#include <string>

#include "io/mapped_file.h"
#include "io/tensor_file.h"

namespace tilewright::io {

/// True where the file starts as an .npy file does.
bool is_npy(const MappedFile& file);

/// NumPy's format, versions 1 to 3: little-endian numbers and bools in C or Fortran order. Throws
/// Error{kParse} for a damaged file, Error{kUnsupported} for other dtypes.
TensorFile read_npy(std::shared_ptr<MappedFile> file);

/// Writes a CPU tensor of any strides. bf16, which NumPy has not, throws Error{kUnsupported}.
void write_npy(const std::string& path, const TensorView& view);

}  // namespace tilewright::io
