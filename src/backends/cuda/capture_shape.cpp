#include "backends/cuda/capture_shape.h"

#include <algorithm>

namespace tilewright::cuda {

namespace {

constexpr std::int64_t kStepBytes = 32;  // of a matrix instruction along a row
constexpr std::int64_t kMostWholeDim = 256;
constexpr int kSlabQueryTile = 64;
constexpr std::int64_t kHalfSlab = 128, kFloatSlab = 64;
constexpr std::int64_t kSlabUnit = 16;

std::int64_t element_bytes(const Problem& problem) noexcept {
  return static_cast<std::int64_t>(size_bytes(problem.query_dtype));
}

/// RowTile::kBytes.
std::int64_t row_tile_bytes(std::int64_t rows, std::int64_t columns,
                            std::int64_t element) noexcept {
  const std::int64_t steps = (columns * element + kStepBytes - 1) / kStepBytes;
  return rows * (steps * kStepBytes + 16);
}

std::int64_t shared_bytes_of(const CaptureShape& shape, const Problem& problem) noexcept {
  const std::int64_t element = element_bytes(problem);
  const std::int64_t tokens = shape.query_tile + CaptureShape::kKeyTile;
  const std::int64_t operands = shape.slab_columns != 0
                                    ? row_tile_bytes(tokens, shape.slab_columns, element)
                                    : row_tile_bytes(tokens, problem.head_dim, element) +
                                          row_tile_bytes(tokens, problem.value_dim, element);
  const std::int64_t terms = std::int64_t{shape.query_tile} * (CaptureShape::kKeyTile + 1) * 4;
  return operands + terms * (shape.ordered_pairs ? 2 : 1) + std::int64_t{shape.threads()} * 12;
}

std::int64_t most_dim(const Problem& problem) noexcept {
  return std::max(problem.head_dim, problem.value_dim);
}

CaptureShape in_slabs(CaptureShape shape, const Problem& problem) noexcept {
  const std::int64_t most = problem.query_dtype == DType::kF32 ? kFloatSlab : kHalfSlab;
  const std::int64_t dim = (most_dim(problem) + kSlabUnit - 1) / kSlabUnit * kSlabUnit;
  shape.query_tile = kSlabQueryTile;
  shape.slab_columns = static_cast<int>(std::clamp(dim, kSlabUnit, most));
  shape.shared_bytes = shared_bytes_of(shape, problem);
  return shape;
}

}  // namespace

CaptureShape capture_shape(const BackwardRow& row, const Problem& problem,
                           bool ordered_pairs) noexcept {
  CaptureShape shape;
  shape.query_tile = most_dim(problem) <= 128 ? 128 : 64;
  shape.ordered_pairs = ordered_pairs;
  shape.walks_lists = row.walks_lists;
  shape.copy_bytes = row.family == Family::kHopper ? 16 : row.copy_bytes;
  shape.shared_bytes = shared_bytes_of(shape, problem);
  const bool lie_whole = problem.query_dtype != DType::kF32 && shape.copy_bytes == 16 &&
                         most_dim(problem) <= kMostWholeDim &&
                         shape.shared_bytes <= row.block_shared_bytes;
  return lie_whole ? shape : in_slabs(shape, problem);
}

}  // namespace tilewright::cuda
