#include "io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "io/bad_file.h"
#include "io/element_writer.h"
#include "io/json.h"
#include "io/output_file.h"
#include "io/tensor_bytes.h"

namespace tilewright::io {

namespace {

constexpr std::size_t kPrefixBytes = 8;
constexpr std::size_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr const char* kMetadata = "__metadata__";

struct DTypeWord {
  const char* word;
  DType dtype;
};

constexpr DTypeWord kDTypeWords[] = {
    {"F64", DType::kF64}, {"F32", DType::kF32},  {"F16", DType::kF16}, {"BF16", DType::kBF16},
    {"I8", DType::kI8},   {"I16", DType::kI16},  {"I32", DType::kI32}, {"I64", DType::kI64},
    {"U8", DType::kU8},   {"BOOL", DType::kBool}};

std::optional<DType> dtype_of(const std::string& word) {
  for (const DTypeWord& row : kDTypeWords) {
    if (word == row.word) return row.dtype;
  }
  return std::nullopt;
}

const char* word_of(DType dtype) {
  return std::find_if(std::begin(kDTypeWords), std::end(kDTypeWords),
                      [&](const DTypeWord& row) { return row.dtype == dtype; })
      ->word;
}

/// The header and the data after it.
struct Sections {
  Json header;
  std::byte* data = nullptr;
  std::int64_t data_bytes = 0;
};

Sections split(const MappedFile& file) {
  if (file.size_bytes() < kPrefixBytes) {
    raise_bad_file(file.path(), {.what = "too short for a safetensors file",
                                 .expected = "at least 8 bytes",
                                 .got = std::to_string(file.size_bytes()) + " bytes",
                                 .hint = {}});
  }
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), kPrefixBytes);
  const std::size_t rest = file.size_bytes() - kPrefixBytes;
  if (header_bytes > std::min(rest, kMaxHeaderBytes)) {
    raise_bad_file(
        file.path(),
        {.what = "the safetensors header is longer than the file",
         .expected = "at most " + std::to_string(std::min(rest, kMaxHeaderBytes)) + " bytes",
         .got = std::to_string(header_bytes) + " bytes",
         .hint = "the file is truncated, or not a safetensors file"});
  }
  const char* text = reinterpret_cast<const char*>(file.data()) + kPrefixBytes;
  Sections sections;
  std::optional<Json> header = Json::parse({text, header_bytes});
  if (!header || !header->is_object()) {
    raise_bad_file(file.path(), {.what = "the safetensors header is not a JSON object",
                                 .expected = {},
                                 .got = {},
                                 .hint = "the file is damaged, or not a safetensors file"});
  }
  sections.header = std::move(*header);
  sections.data = file.data() + kPrefixBytes + header_bytes;
  sections.data_bytes = static_cast<std::int64_t>(rest - header_bytes);
  return sections;
}

std::optional<Dims> shape_of(const Json& entry) {
  const Json* shape = entry.find("shape");
  if (shape == nullptr || !shape->is_array() || shape->elements().size() > Dims::kMaxRank) {
    return std::nullopt;
  }
  Dims dims;
  for (const Json& extent : shape->elements()) {
    if (!extent.is_integer()) return std::nullopt;
    dims.push_back(extent.integer());
  }
  return dims;
}

/// [begin, end) of a tensor's bytes in the data section; absent where the entry does not say so.
std::optional<std::pair<std::int64_t, std::int64_t>> offsets_of(const Json& entry) {
  const Json* offsets = entry.find("data_offsets");
  if (offsets == nullptr || !offsets->is_array() || offsets->elements().size() != 2) {
    return std::nullopt;
  }
  const Json& begin = offsets->elements()[0];
  const Json& end = offsets->elements()[1];
  if (!begin.is_integer() || !end.is_integer()) return std::nullopt;
  return std::pair{begin.integer(), end.integer()};
}

class Reader {
 public:
  Reader(const MappedFile& file, const Sections& sections, TensorFile::Parts& parts)
      : file_(file), sections_(sections), parts_(parts) {}

  void read_entry(const std::string& name, const Json& entry) {
    const Json* stated = entry.find("dtype");
    if (stated == nullptr || !stated->is_text()) bad(name, "has no dtype");
    const std::string& word = stated->text();
    const std::optional<DType> dtype = dtype_of(word);
    if (!dtype) {
      parts_.unreadable[name] = word;
      return;
    }
    const std::optional<Dims> shape = shape_of(entry);
    if (!shape) bad(name, "has no shape of at most 16 whole numbers");
    const auto offsets = offsets_of(entry);
    if (!offsets) bad(name, "has no data_offsets of two whole numbers");
    const std::optional<std::int64_t> bytes = checked_size_bytes(*shape, *dtype);
    if (!bytes) bad(name, "has an impossible shape " + to_string(*shape));
    check_offsets(name, *offsets, *bytes);
    TensorView view = contiguous(nullptr, *dtype, Dims{0});
    view.shape = *shape;
    view.strides = contiguous_strides(*shape);
    view.data = aligned(sections_.data + offsets->first, *bytes, size_bytes(*dtype));
    parts_.tensors.push_back({name, view});
  }

 private:
  [[noreturn]] void bad(const std::string& name, const std::string& what) const {
    raise_bad_file(file_.path(), {.what = "tensor '" + name + "' " + what,
                                  .expected = {},
                                  .got = {},
                                  .hint = "the safetensors header is damaged"});
  }

  void check_offsets(const std::string& name, std::pair<std::int64_t, std::int64_t> offsets,
                     std::int64_t bytes) const {
    const auto [begin, end] = offsets;
    if (begin < 0 || end < begin || end > sections_.data_bytes) {
      raise_bad_file(file_.path(),
                     {.what = "tensor '" + name + "' lies outside the file",
                      .expected = "bytes within 0.." + std::to_string(sections_.data_bytes),
                      .got = std::to_string(begin) + ".." + std::to_string(end),
                      .hint = "the file is truncated"});
    }
    if (end - begin == bytes) return;
    raise_bad_file(file_.path(), {.what = "tensor '" + name + "' has a size unlike its shape",
                                  .expected = std::to_string(bytes) + " bytes",
                                  .got = std::to_string(end - begin) + " bytes",
                                  .hint = "the safetensors header is damaged"});
  }

  /// The format promises no alignment; kernels need the element's.
  void* aligned(std::byte* source, std::int64_t bytes, std::size_t alignment) {
    if (reinterpret_cast<std::uintptr_t>(source) % alignment == 0) return source;
    const auto size = static_cast<std::size_t>(bytes);
    auto copy =
        std::make_shared<std::vector<std::max_align_t>>(size / sizeof(std::max_align_t) + 1);
    std::memcpy(copy->data(), source, size);
    parts_.storage.push_back(copy);
    return copy->data();
  }

  const MappedFile& file_;
  const Sections& sections_;
  TensorFile::Parts& parts_;
};

std::string header_text(std::span<const NamedTensor> tensors,
                        const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  for (const auto& [key, value] : metadata) header[kMetadata][key] = value;
  std::int64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    const std::int64_t bytes =
        element_count(tensor.view.shape) * static_cast<std::int64_t>(size_bytes(tensor.view.dtype));
    Json& entry = header[tensor.name];
    entry["dtype"] = word_of(tensor.view.dtype);
    entry["shape"] = std::vector<std::int64_t>(tensor.view.shape.begin(), tensor.view.shape.end());
    entry["data_offsets"] = {offset, offset + bytes};
    offset += bytes;
  }
  std::string text = header.dump(-1);
  // Readers map the file: data starts aligned.
  constexpr std::size_t kAlignment = 64;
  text.append((kAlignment - (text.size() + kPrefixBytes) % kAlignment) % kAlignment, ' ');
  return text;
}

}  // namespace

TensorFile read_safetensors(std::shared_ptr<MappedFile> file) {
  const Sections sections = split(*file);
  TensorFile::Parts parts;
  parts.path = file->path();
  Reader reader(*file, sections, parts);
  for (const auto& [name, entry] : sections.header.members()) {
    if (name != kMetadata) {
      reader.read_entry(name, entry);
      continue;
    }
    if (!entry.is_object()) continue;
    for (const auto& [key, value] : entry.members()) {
      if (value.is_text()) parts.metadata[key] = value.text();
    }
  }
  parts.storage.push_back(std::move(file));
  return TensorFile(std::move(parts));
}

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<NamedTensor> ordered(tensors.begin(), tensors.end());
  // Wide elements first keep every tensor aligned to its element.
  std::stable_sort(ordered.begin(), ordered.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return size_bytes(a.view.dtype) > size_bytes(b.view.dtype);
  });
  const std::string header = header_text(ordered, metadata);
  const std::uint64_t header_bytes = header.size();
  OutputFile file(path);
  file.write(&header_bytes, sizeof(header_bytes));
  file.write(header);
  for (const NamedTensor& tensor : ordered) write_elements(file, tensor.view);
  file.commit();
}

}  // namespace tilewright::io
