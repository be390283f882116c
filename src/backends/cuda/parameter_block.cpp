#include "backends/cuda/parameter_block.h"

#include <cstring>

#include "base/check.h"

namespace tilewright::cuda {

namespace {

constexpr std::size_t kWord = 8;

/// Appends fields to a block of known size.
class BlockWriter {
 public:
  explicit BlockWriter(std::span<std::byte> block) : block_(block) {}

  template <class T>
  void put(std::size_t offset, T value) {
    TILEWRIGHT_CHECK(offset + sizeof value <= block_.size());
    std::memcpy(block_.data() + offset, &value, sizeof value);
  }

 private:
  std::span<std::byte> block_;
};

void put_capture(BlockWriter& writer, std::size_t offset, const TensorView& view) {
  writer.put(offset, element_count(view.shape) == 0 ? nullptr : view.data);
  const std::size_t rank = view.rank();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t stride = view.shape[axis] == 1 ? 0 : view.strides[axis];
    writer.put(offset + kWord * (1 + axis), view.shape[axis]);
    writer.put(offset + kWord * (1 + rank + axis), stride);
  }
}

void put_number(BlockWriter& writer, std::size_t offset, ir::Type type,
                const ir::NumberValue& number) {
  if (type == ir::Type::kFloat) {
    writer.put(offset, number.real);
    writer.put(offset + kWord, static_cast<float>(number.real));
  } else {
    writer.put(offset, number.integer);
    writer.put(offset + kWord, static_cast<std::uint32_t>(number.integer));
  }
}

}  // namespace

std::int64_t PyramidShape::line_cells(std::int64_t extent, int level) noexcept {
  const std::int64_t width = std::int64_t{32} << level;
  return (extent + width - 1) / width;
}

PyramidShape pyramid_shape(const TensorView& capture, std::uint32_t axis) noexcept {
  PyramidShape shape;
  if (element_count(capture.shape) == 0) return shape;
  shape.extent = capture.shape[axis];
  shape.lines = element_count(capture.shape) / shape.extent;
  std::int64_t cells = 0;
  do {
    cells = PyramidShape::line_cells(shape.extent, shape.levels++);
    shape.cells += cells * shape.lines;
  } while (cells > 1);
  return shape;
}

BlockLayout::BlockLayout(const ir::Program& program, std::span<const PyramidRequest> pyramids) {
  bytes_ = kCapturesAt;
  for (const ir::CaptureSlot& slot : program.captures()) {
    captures_.push_back(bytes_);
    bytes_ += kWord * (1 + 2 * static_cast<std::size_t>(slot.rank));
  }
  for (std::size_t i = 0; i < program.numbers().size(); ++i) {
    numbers_.push_back(bytes_);
    bytes_ += 2 * kWord;
  }
  for (std::size_t i = 0; i < pyramids.size(); ++i) {
    pyramids_.push_back(bytes_);
    bytes_ += 3 * kWord;
  }
}

void pack(const BlockLayout& layout, const BlockContents& contents, std::span<std::byte> block) {
  BlockWriter writer(block);
  const Problem& problem = contents.problem;
  writer.put(BlockLayout::kErrorAt, contents.error);
  std::size_t at = BlockLayout::kBasesAt;
  for (std::int64_t value : {problem.q_base, problem.kv_base, problem.batch, problem.query_heads,
                             problem.q_len, problem.kv_len}) {
    writer.put(at, value);
    at += kWord;
  }
  for (std::size_t slot = 0; slot < contents.program.captures().size(); ++slot)
    put_capture(writer, layout.capture_offset(slot), contents.bindings.captures[slot]);
  for (std::size_t slot = 0; slot < contents.program.numbers().size(); ++slot)
    put_number(writer, layout.number_offset(slot), contents.program.numbers()[slot].type,
               contents.bindings.numbers[slot]);
  for (std::size_t i = 0; i < contents.pyramids.size(); ++i) {
    const PyramidBinding& pyramid = contents.pyramids[i];
    writer.put(layout.pyramid_offset(i), pyramid.cells);
    writer.put(layout.pyramid_offset(i) + kWord, pyramid.shape.lines);
    writer.put(layout.pyramid_offset(i) + 2 * kWord, pyramid.shape.extent);
  }
}

}  // namespace tilewright::cuda
