#include "io/tensor_file.h"

#include "io/bad_file.h"
#include "io/mapped_file.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "tilewright/error.h"

namespace tilewright::io {

std::optional<TensorView> TensorFile::find(std::string_view name) const {
  for (const NamedTensor& tensor : parts_.tensors) {
    if (tensor.name == name) return tensor.view;
  }
  const auto unreadable = parts_.unreadable.find(std::string(name));
  if (unreadable == parts_.unreadable.end()) return std::nullopt;
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "tensor '" + unreadable->first + "' has a dtype that Tilewright cannot read",
               .where = path(),
               .expected = "F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL",
               .got = unreadable->second,
               .hint = {}});
}

TensorView TensorFile::get(std::string_view name) const {
  if (const std::optional<TensorView> view = find(name)) return *view;
  std::string names;
  for (const NamedTensor& tensor : parts_.tensors) {
    names += (names.empty() ? "" : ", ") + tensor.name;
  }
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "the file has no tensor '" + std::string(name) + "'",
               .where = path(),
               .expected = "one of: " + names,
               .got = std::string(name),
               .hint = {}});
}

TensorFile read_tensor_file(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  if (is_npy(*file)) return read_npy(std::move(file));
  if (path.ends_with(".npy")) {
    raise_bad_file(path, {.what = "not an .npy file",
                          .expected = "the six bytes \\x93NUMPY at the start",
                          .got = std::to_string(file->size_bytes()) + " bytes that start otherwise",
                          .hint = {}});
  }
  return read_safetensors(std::move(file));
}

}  // namespace tilewright::io
