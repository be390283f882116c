#include "backends/cpu/tile_sizes.h"

#include <algorithm>

namespace tilewright::cpu {

namespace {

/// Score tiles are near this many rows high: a multiple of the micro-kernel's blocks.
constexpr std::int64_t kScoreRows = 64;

/// What differs from set to set: the faster the products, the more rows share a packed tile, the
/// longer it is, and the more pairs a step is worth.
struct Shape {
  std::int64_t score_tiles;  ///< of one item
  std::int64_t kv_tokens;
  std::int64_t band_rows;
  std::int64_t row_unit;
  std::int64_t step_price_pairs;
};

Shape shape_of(const MicroKernel& kernel) {
  if (kernel.isa == Isa::kAmx) return {4, 256, 16, 16, 256};
  if (kernel.compute == DType::kBF16) return {2, 256, 7, 1, 192};
  if (kernel.isa == Isa::kAvx512) return {2, 128, 7, 1, 128};
  return {2, 128, 6, 1, 64};
}

}  // namespace

TileSizes tile_sizes(const MicroKernel& kernel) {
  const Shape shape = shape_of(kernel);
  TileSizes sizes;
  sizes.score_rows =
      std::max<std::int64_t>(1, kScoreRows / kernel.row_multiple) * kernel.row_multiple;
  sizes.q_rows = shape.score_tiles * sizes.score_rows;
  sizes.kv_tokens = shape.kv_tokens;
  sizes.band_rows = shape.band_rows;
  sizes.row_unit = shape.row_unit;
  sizes.step_price_pairs = shape.step_price_pairs;
  return sizes;
}

}  // namespace tilewright::cpu
