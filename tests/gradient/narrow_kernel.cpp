#include "gradient/narrow_kernel.h"

#include <cstring>

#include "base/half.h"

namespace tilewright::cases {

namespace {

using cpu::MatrixView;

constexpr std::int64_t kColumns = 16;
constexpr std::int64_t kDepth = 4;

std::int64_t padded(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

std::uint16_t element(const MatrixView& view, std::int64_t row, std::int64_t column) {
  return static_cast<const std::uint16_t*>(
      view.data)[row * view.row_stride + column * view.column_stride];
}

/// Row-major with `stride`, zeros in `rows` rows where the source has none.
void pack(const MatrixView& source, void* packed, std::int64_t rows, std::int64_t stride) {
  auto* const to = static_cast<std::uint16_t*>(packed);
  std::memset(to, 0, static_cast<std::size_t>(rows * stride) * sizeof *to);
  for (std::int64_t r = 0; r < source.rows; ++r)
    for (std::int64_t c = 0; c < source.columns; ++c) to[r * stride + c] = element(source, r, c);
}

void pack_query(const MatrixView& source, void* packed) {
  pack(source, packed, source.rows, padded(source.columns, kDepth));
}

void pack_key(const MatrixView& source, void* packed) {
  pack(source, packed, padded(source.rows, kColumns), padded(source.columns, kDepth));
}

void pack_value(const MatrixView& source, void* packed) {
  pack(source, packed, padded(source.rows, kColumns), padded(source.columns, kColumns));
}

void score_tile(const cpu::ScoreTile& tile) {
  const std::int64_t depth = padded(tile.depth, kDepth);
  const auto* const query = static_cast<const std::uint16_t*>(tile.query);
  const auto* const key = static_cast<const std::uint16_t*>(tile.key);
  for (std::int64_t r = 0; r < tile.rows; ++r)
    for (std::int64_t j = 0; j < padded(tile.kv, kColumns); ++j) {
      float sum = 0;
      for (std::int64_t d = 0; d < depth; ++d)
        sum += bf16_to_float(query[r * depth + d]) * bf16_to_float(key[j * depth + d]);
      static_cast<float*>(tile.score)[r * tile.score_stride + j] = sum;
    }
}

void output_tile(const cpu::OutputTile& tile) {
  const std::int64_t columns = padded(tile.columns, kColumns);
  const auto* const probability = static_cast<const std::uint16_t*>(tile.probability);
  const auto* const value = static_cast<const std::uint16_t*>(tile.value) + tile.kv_begin * columns;
  const std::int64_t rows = padded(tile.value_rows, kColumns) - tile.kv_begin;
  for (std::int64_t r = 0; r < tile.rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      float& sum = static_cast<float*>(tile.output)[r * tile.output_stride + c];
      for (std::int64_t j = 0; j < padded(tile.kv, kDepth); ++j) {
        const float right = j < rows ? bf16_to_float(value[j * columns + c]) : 0;
        sum += bf16_to_float(probability[r * tile.probability_stride + j]) * right;
      }
    }
}

}  // namespace

cpu::MicroKernel narrow_kernel() {
  cpu::MicroKernel kernel{};
  kernel.name = "bf16_plain";
  kernel.isa = cpu::Isa::kPortable;
  kernel.compute = DType::kBF16;
  kernel.accumulator = DType::kF32;
  kernel.sources = static_cast<std::uint8_t>(1U << static_cast<unsigned>(DType::kBF16));
  kernel.row_multiple = 8;
  kernel.column_multiple = kColumns;
  kernel.depth_multiple = kDepth;
  kernel.pack_query = pack_query;
  kernel.pack_key = pack_key;
  kernel.pack_value = pack_value;
  kernel.score_tile = score_tile;
  kernel.output_tile = output_tile;
  return kernel;
}

}  // namespace tilewright::cases
