#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "io/mapped_file.h"
#include "io/tensor_file.h"

namespace tilewright::io {

/// The safetensors format: 8 bytes little-endian header length, a JSON header {name: {dtype, shape,
/// data_offsets}, "__metadata__": {...}}, data. Throws Error{kParse} for a file that breaks it.
TensorFile read_safetensors(std::shared_ptr<MappedFile> file);

/// Writes CPU tensors of any strides, wide elements first so that each is aligned to its own.
/// Throws Error{kIo} where the file cannot be written; then none appears.
void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace tilewright::io
