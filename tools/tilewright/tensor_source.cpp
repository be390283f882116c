#include "tensor_source.h"

#include <sys/stat.h>

namespace tilewright::cli {

TensorSource parse_tensor_source(const std::string& text) {
  struct stat status{};
  const std::size_t colon = text.rfind(':');
  // A path may hold a colon itself: an existing file is taken whole.
  if (colon == std::string::npos || ::stat(text.c_str(), &status) == 0) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

const io::TensorFile& OpenFiles::open(const std::string& path) {
  for (const io::TensorFile& file : files_) {
    if (file.path() == path) return file;
  }
  return files_.emplace_back(io::read_tensor_file(path));
}

TensorView OpenFiles::tensor(const std::string& source, std::string_view fallback) {
  const TensorSource place = parse_tensor_source(source);
  const io::TensorFile& file = open(place.path);
  if (!place.tensor.empty()) return file.get(place.tensor);
  if (file.tensors().size() == 1) return file.get(file.tensors().front().name);
  return file.get(fallback);
}

}  // namespace tilewright::cli
