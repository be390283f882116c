#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "io/tensor_file.h"

namespace tilewright::cli {

/// "path" or "path:tensor".
struct TensorSource {
  std::string path;
  std::string tensor;
};

TensorSource parse_tensor_source(const std::string& text);

/// Files that were opened, so that each is mapped once and stays mapped.
class OpenFiles {
 public:
  const io::TensorFile& open(const std::string& path);
  /// The tensor that `source` names; else the file's only one; else the one called `fallback`.
  /// Throws Error that lists the file's tensors where none fits.
  TensorView tensor(const std::string& source, std::string_view fallback);

 private:
  std::deque<io::TensorFile> files_;
};

}  // namespace tilewright::cli
