#include "tilewright/table.h"

#include <cstring>
#include <vector>

#include "base/element.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

constexpr std::int64_t kMaxTableElements = std::int64_t{1} << 31;

std::int64_t require_size(const Dims& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent >= 0 && (extent == 0 || count <= kMaxTableElements / extent)) {
      count *= extent;
      continue;
    }
    throw Error({.code = ErrorCode::kInvalidArgument,
                 .what = "a table cannot have this shape",
                 .where = {},
                 .expected = "extents from 0, at most 2^31 elements",
                 .got = to_string(shape),
                 .hint = "a table of pairs grows with Q * KV: use shorter lengths"});
  }
  return count;
}

template <class T>
void write(void* data, std::int64_t offset, T value) {
  std::memcpy(static_cast<T*>(data) + offset, &value, sizeof value);
}

[[noreturn]] void raise_lengths(const std::string& got) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "cumulative lengths do not describe packed documents",
               .where = "cu_seqlens",
               .expected = "0, then one end per document, none before the last",
               .got = got,
               .hint = {}});
}

}  // namespace

Table::Table(DType dtype, const Dims& shape) {
  const auto bytes = static_cast<std::size_t>(require_size(shape)) * size_bytes(dtype);
  memory_ = std::make_shared<std::byte[]>(bytes);
  view_ = contiguous(memory_.get(), dtype, shape);
}

Table Table::of(std::span<const std::int32_t> values) {
  Table table(DType::kI32, {static_cast<std::int64_t>(values.size())});
  std::memcpy(table.view_.data, values.data(), values.size_bytes());
  return table;
}

void Table::set(std::int64_t offset, double value) {
  if (is_floating(view_.dtype)) return write_real(view_, offset, value);
  set(offset, static_cast<std::int64_t>(value));
}

void Table::set(std::int64_t offset, std::int64_t value) {
  switch (view_.dtype) {
    case DType::kI64:
      return write(view_.data, offset, value);
    case DType::kI32:
      return write(view_.data, offset, static_cast<std::int32_t>(value));
    case DType::kI16:
      return write(view_.data, offset, static_cast<std::int16_t>(value));
    case DType::kI8:
      return write(view_.data, offset, static_cast<std::int8_t>(value));
    case DType::kU8:
      return write(view_.data, offset, static_cast<std::uint8_t>(value));
    case DType::kBool:
      return write(view_.data, offset, static_cast<std::uint8_t>(value != 0 ? 1 : 0));
    default:
      return write_real(view_, offset, static_cast<double>(value));
  }
}

DocumentTables DocumentTables::from_cu_seqlens(std::span<const std::int64_t> cu_seqlens) {
  if (cu_seqlens.empty() || cu_seqlens[0] != 0)
    raise_lengths(cu_seqlens.empty() ? "no entries" : std::to_string(cu_seqlens[0]) + " first");
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> starts;
  std::vector<std::int32_t> ends;
  for (std::size_t document = 0; document + 1 < cu_seqlens.size(); ++document) {
    const std::int64_t begin = cu_seqlens[document];
    const std::int64_t end = cu_seqlens[document + 1];
    if (end < begin || end > INT32_MAX)
      raise_lengths(std::to_string(end) + " after " + std::to_string(begin));
    starts.push_back(static_cast<std::int32_t>(begin));
    ends.push_back(static_cast<std::int32_t>(end));
    ids.insert(ids.end(), static_cast<std::size_t>(end - begin),
               static_cast<std::int32_t>(document));
  }
  return {.ids = Table::of(ids), .starts = Table::of(starts), .ends = Table::of(ends)};
}

}  // namespace tilewright
