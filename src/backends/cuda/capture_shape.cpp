#include "backends/cuda/capture_shape.h"

#include <algorithm>

namespace tilewright::cuda {

namespace {

constexpr std::int64_t kElementBytes = 2;
constexpr std::int64_t kStepBytes = 32;  // of a matrix instruction along a row

/// RowTile::kBytes.
std::int64_t row_tile_bytes(std::int64_t rows, std::int64_t columns) noexcept {
  const std::int64_t steps = (columns * kElementBytes + kStepBytes - 1) / kStepBytes;
  return rows * (steps * kStepBytes + 16);
}

}  // namespace

CaptureShape capture_shape(const Problem& problem, bool ordered_pairs) noexcept {
  CaptureShape shape;
  shape.query_tile = std::max(problem.head_dim, problem.value_dim) <= 128 ? 128 : 64;
  shape.ordered_pairs = ordered_pairs;
  const std::int64_t tokens = shape.query_tile + CaptureShape::kKeyTile;
  const std::int64_t terms = std::int64_t{shape.query_tile} * (CaptureShape::kKeyTile + 1) * 4;
  shape.shared_bytes = row_tile_bytes(tokens, problem.head_dim) +
                       row_tile_bytes(tokens, problem.value_dim) + terms * (ordered_pairs ? 2 : 1) +
                       std::int64_t{shape.threads()} * 12;
  return shape;
}

}  // namespace tilewright::cuda
