#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/tensor.h"

namespace tilewright::io {

struct NamedTensor {
  std::string name;
  TensorView view;
};

/// Tensors of one file. Views stay valid as long as a copy of this object lives; writing through
/// them never reaches the file.
class TensorFile {
 public:
  struct Parts {
    std::string path;
    std::vector<NamedTensor> tensors;
    std::map<std::string, std::string> metadata;
    std::map<std::string, std::string> unreadable;  ///< tensors in a dtype unknown here, and why
    std::vector<std::shared_ptr<const void>> storage;
  };
  explicit TensorFile(Parts parts) : parts_(std::move(parts)) {}

  const std::string& path() const noexcept { return parts_.path; }
  const std::vector<NamedTensor>& tensors() const noexcept { return parts_.tensors; }
  const std::map<std::string, std::string>& metadata() const noexcept { return parts_.metadata; }

  /// Absent where the file has no tensor of that name. Throws Error{kUnsupported} for one whose
  /// dtype cannot be read.
  std::optional<TensorView> find(std::string_view name) const;
  /// Throws Error{kInvalidArgument} that lists the names where there is none.
  TensorView get(std::string_view name) const;

 private:
  Parts parts_;
};

/// Reads .safetensors or .npy, told apart by content. An .npy holds one tensor, whose name is "".
TensorFile read_tensor_file(const std::string& path);

}  // namespace tilewright::io
