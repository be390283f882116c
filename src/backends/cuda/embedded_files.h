#pragma once

#include <span>
#include <string_view>

namespace tilewright::cuda {

/// One file of kernels/cuda as it was when the library was built.
struct EmbeddedFile {
  std::string_view path;  ///< relative to kernels/cuda, e.g. "attention/forward.cuh"
  std::string_view text;  ///< the whole file
};

/// Every kernel source, sorted by path. The build generates the definition.
std::span<const EmbeddedFile> embedded_files();

}  // namespace tilewright::cuda
