#include "io/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "io/bad_file.h"
#include "io/element_writer.h"
#include "io/npy_header.h"
#include "io/output_file.h"
#include "io/tensor_bytes.h"
#include "tilewright/error.h"

namespace tilewright::io {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionAt = 6;

struct DescrWord {
  std::string_view word;  // without the byte order
  DType dtype;
};

constexpr DescrWord kDescrWords[] = {
    {"f8", DType::kF64}, {"f4", DType::kF32}, {"f2", DType::kF16},
    {"i1", DType::kI8},  {"i2", DType::kI16}, {"i4", DType::kI32},
    {"i8", DType::kI64}, {"u1", DType::kU8},  {"b1", DType::kBool}};

DType dtype_of(const std::string& path, const std::string& descr) {
  const bool is_little = !descr.empty() && descr.front() != '>';
  for (const DescrWord& row : kDescrWords) {
    if (is_little && descr.size() == 3 && descr.substr(1) == row.word) return row.dtype;
  }
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "the .npy file has a dtype that Tilewright cannot read",
               .where = path,
               .expected = "little-endian f2, f4, f8, i1, i2, i4, i8, u1 or b1",
               .got = "'" + descr + "'",
               .hint = "convert it with array.astype(...), or store bfloat16 as .safetensors"});
}

/// Where the header text lies, by version: 2 bytes of length in version 1, 4 bytes after it.
std::string_view header_text(const MappedFile& file) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  const std::size_t version = file.size_bytes() > kVersionAt ? bytes[kVersionAt] : 0;
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = kVersionAt + 2 + length_bytes;
  if (version < 1 || version > 3) {
    raise_bad_file(file.path(), {.what = "unknown version of the .npy format",
                                 .expected = "1, 2 or 3",
                                 .got = std::to_string(version),
                                 .hint = {}});
  }
  std::size_t length = 0;
  if (file.size_bytes() >= begin) std::memcpy(&length, bytes + kVersionAt + 2, length_bytes);
  if (file.size_bytes() < begin || file.size_bytes() - begin < length) {
    raise_bad_file(file.path(), {.what = "the .npy header is longer than the file",
                                 .expected = {},
                                 .got = std::to_string(file.size_bytes()) + " bytes",
                                 .hint = "the file is truncated"});
  }
  return {reinterpret_cast<const char*>(bytes) + begin, length};
}

Dims strides_of(const Dims& shape, bool fortran_order) {
  if (!fortran_order) return contiguous_strides(shape);
  Dims strides = shape;
  std::int64_t step = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis] = step;
    step *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

}  // namespace

bool is_npy(const MappedFile& file) {
  return file.size_bytes() >= kMagic.size() &&
         std::memcmp(file.data(), kMagic.data(), kMagic.size()) == 0;
}

TensorFile read_npy(std::shared_ptr<MappedFile> file) {
  const std::string_view text = header_text(*file);
  const std::optional<NpyHeader> header = parse_npy_header(text);
  if (!header) {
    raise_bad_file(file->path(), {.what = "the .npy header cannot be read",
                                  .expected = "{'descr': '<f4', 'fortran_order': False, 'shape': "
                                              "(2, 3), }",
                                  .got = std::string(text.substr(0, 80)),
                                  .hint = {}});
  }
  const DType dtype = dtype_of(file->path(), header->descr);
  const std::optional<std::int64_t> bytes = checked_size_bytes(header->shape, dtype);
  std::byte* data =
      file->data() + (text.data() - reinterpret_cast<const char*>(file->data())) + text.size();
  const std::int64_t available = file->data() + file->size_bytes() - data;
  if (!bytes || *bytes > available) {
    raise_bad_file(file->path(),
                   {.what = "the .npy data is shorter than its shape " + to_string(header->shape),
                    .expected = bytes ? std::to_string(*bytes) + " bytes" : "",
                    .got = std::to_string(available) + " bytes",
                    .hint = "the file is truncated"});
  }
  TensorFile::Parts parts;
  parts.path = file->path();
  TensorView view = contiguous(data, dtype, Dims{0});
  view.shape = header->shape;
  view.strides = strides_of(header->shape, header->fortran_order);
  if (reinterpret_cast<std::uintptr_t>(data) % size_bytes(dtype) != 0) {
    const auto size = static_cast<std::size_t>(*bytes);
    auto copy =
        std::make_shared<std::vector<std::max_align_t>>(size / sizeof(std::max_align_t) + 1);
    std::memcpy(copy->data(), data, size);
    view.data = copy->data();
    parts.storage.push_back(copy);
  }
  parts.tensors.push_back({"", view});
  parts.storage.push_back(std::move(file));
  return TensorFile(std::move(parts));
}

void write_npy(const std::string& path, const TensorView& view) {
  const auto* row = std::find_if(std::begin(kDescrWords), std::end(kDescrWords),
                                 [&](const DescrWord& r) { return r.dtype == view.dtype; });
  if (row == std::end(kDescrWords)) {
    throw Error({.code = ErrorCode::kUnsupported,
                 .what = "NumPy's format has no " + std::string(name(view.dtype)),
                 .where = path,
                 .expected = {},
                 .got = {},
                 .hint = "write .safetensors"});
  }
  const std::string text = npy_header_text(row->word, view.shape);
  const auto length = static_cast<std::uint16_t>(text.size());
  OutputFile file(path);
  file.write(kMagic);
  file.write(std::string_view("\x01\x00", 2));
  file.write(&length, sizeof(length));
  file.write(text);
  write_elements(file, view);
  file.commit();
}

}  // namespace tilewright::io
