#include "io/element_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace tilewright::io {

namespace {

std::int64_t element_offset(const TensorView& view, std::int64_t flat) {
  std::int64_t offset = 0;
  for (std::size_t axis = view.rank(); axis-- > 0;) {
    const std::int64_t index = flat % view.shape[axis];
    flat /= view.shape[axis];
    if (view.shape[axis] > 1) offset += index * view.strides[axis];
  }
  return offset;
}

}  // namespace

void write_elements(OutputFile& file, const TensorView& view) {
  const std::int64_t count = element_count(view.shape);
  if (count == 0) return;
  const std::size_t width = size_bytes(view.dtype);
  const auto* source = static_cast<const std::byte*>(view.data);
  constexpr std::int64_t kChunkElements = 1 << 16;
  std::vector<std::byte> chunk;
  for (std::int64_t begin = 0; begin < count; begin += kChunkElements) {
    const std::int64_t end = std::min(count, begin + kChunkElements);
    chunk.resize(static_cast<std::size_t>(end - begin) * width);
    for (std::int64_t i = begin; i < end; ++i) {
      std::memcpy(chunk.data() + static_cast<std::size_t>(i - begin) * width,
                  source + element_offset(view, i) * static_cast<std::int64_t>(width), width);
    }
    file.write(chunk.data(), chunk.size());
  }
}

}  // namespace tilewright::io
