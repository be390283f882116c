#include "backends/cuda/portable_backward_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "backends/cuda/portable_rows.h"

namespace tilewright::cuda {

namespace {

constexpr int kHopperCapability = 90;

/// docs/kernels/portable_backward.md says what was measured.
struct PortableBackwardShape {
  int key_warps;
  int column_warps;
  int strips;
  int query_tile;
  int chunk;
  int query_stages;
  int grad_stages;
  int sum_strips;
  std::int64_t max_dim;  ///< of E and of Ev
};

constexpr std::array<PortableBackwardShape, 9> kBackwardHalfShapes{{
    {4, 1, 2, 64, 32, 2, 2, 2, 64},
    {2, 2, 2, 64, 32, 2, 1, 2, 96},
    {4, 2, 2, 64, 32, 2, 2, 2, 128},
    {2, 2, 2, 64, 32, 2, 1, 2, 128},
    {2, 2, 2, 64, 32, 1, 1, 2, 128},
    {2, 4, 2, 64, 16, 2, 2, 2, 256},
    {2, 4, 2, 64, 16, 1, 1, 2, 256},
    {2, 2, 1, 32, 16, 1, 1, 1, 256},
    {2, 4, 1, 64, 16, 1, 1, 1, 512},
}};
constexpr std::array<PortableBackwardShape, 3> kBackwardFloatShapes{{
    {4, 1, 1, 32, 32, 2, 2, 2, 64},
    {2, 2, 1, 32, 16, 1, 1, 2, 128},
    {2, 2, 1, 32, 16, 1, 1, 1, 256},
}};

std::span<const PortableBackwardShape> backward_shapes_of(DType dtype) {
  if (dtype == DType::kF32) return kBackwardFloatShapes;
  return kBackwardHalfShapes;
}

/// Every warp's columns of dK and dV, and of dQ, are multiples of 16.
int dim_unit_of(const PortableBackwardShape& shape) {
  const int warps = shape.key_warps * shape.column_warps;
  const int sum_columns = warps / (shape.query_tile / (16 * shape.sum_strips));
  return 16 * std::lcm(shape.column_warps, sum_columns);
}

BackwardRow portable_backward_row(const PortableBackwardShape& shape, int copy_bytes,
                                  bool walks_lists) {
  BackwardRow row;
  row.name = fmt::format("portable_backward_w{}x{}_k{}_q{}c{}_s{}{}_c{}", shape.key_warps,
                         shape.column_warps, shape.strips, shape.query_tile, shape.chunk,
                         shape.query_stages, shape.grad_stages, copy_bytes);
  if (walks_lists) row.name += "_lists";
  row.walks_lists = walks_lists;
  row.family = Family::kPortable;
  row.threads = 32 * shape.key_warps * shape.column_warps;
  row.query_tile = shape.query_tile;
  row.key_tile = 16 * shape.strips * shape.key_warps;
  row.splits_keys = false;
  row.query_stages = shape.query_stages;
  row.grad_stages = shape.grad_stages;
  row.max_head_dim = shape.max_dim;
  row.key_warps = shape.key_warps;
  row.column_warps = shape.column_warps;
  row.strips = shape.strips;
  row.chunk = shape.chunk;
  row.sum_strips = shape.sum_strips;
  row.dim_unit = dim_unit_of(shape);
  row.copy_bytes = copy_bytes;
  return row;
}

std::string portable_backward_rejection(const RowQuestion& question) {
  const Problem& problem = question.problem;
  if (question.device.major < 8)
    return fmt::format("needs compute capability 8.0, the device has {}.{}", question.device.major,
                       question.device.minor);
  const DType dtype = problem.query_dtype;
  if (dtype == DType::kF64) return "serves f32, bf16 and f16, not f64";
  if (problem.key_dtype != dtype || problem.value_dtype != dtype)
    return "query, key and value must have one dtype";
  if (problem.kv_layout != KvLayout::kDense) return "keys and values must be dense";
  return {};
}

std::string portable_backward_row_rejection(const BackwardRow& row, const RowQuestion& question) {
  const Problem& problem = question.problem;
  if (std::max(problem.head_dim, problem.value_dim) > row.max_head_dim)
    return fmt::format("serves head dims up to {}", row.max_head_dim);
  if (row.copy_bytes == 16 && question.any_layout)
    return "copies 16 bytes at a time: needs aligned bases and strides and innermost stride 1";
  if (row.copy_bytes == 16 && !rows_fill_units(problem))
    return "copies 16 bytes at a time: E and Ev must fill them";
  const std::int64_t bytes = portable_backward_shared_bytes(row, problem);
  if (bytes > question.device.block_shared_bytes)
    return fmt::format("needs {} bytes of shared memory a block, the device has {}", bytes,
                       question.device.block_shared_bytes);
  return {};
}

}  // namespace

std::vector<BackwardCandidate> portable_backward_candidates(const RowQuestion& question) {
  const std::string family = portable_backward_rejection(question);
  const bool is_float = question.problem.query_dtype == DType::kF32;
  std::vector<BackwardCandidate> all;
  for (const int copy_bytes : {16, is_float ? 4 : 2})
    for (const PortableBackwardShape& shape : backward_shapes_of(question.problem.query_dtype)) {
      BackwardCandidate candidate{
          .row = portable_backward_row(shape, copy_bytes, question.block_lists),
          .rejection = family,
          .fast = question.device.capability() != kHopperCapability && copy_bytes == 16};
      if (family.empty())
        candidate.rejection = portable_backward_row_rejection(candidate.row, question);
      all.push_back(std::move(candidate));
    }
  return all;
}

std::int64_t portable_backward_shared_bytes(const BackwardRow& row, const Problem& problem) {
  constexpr std::int64_t kVisitsBytes = 65 * 16, kSearchBytes = 32, kItemBytes = 32;
  constexpr std::int64_t kRowPadding = 16, kNumberBytes = 4;
  const auto element = static_cast<std::int64_t>(size_bytes(problem.query_dtype));
  const auto row_bytes = [&](std::int64_t columns) { return columns * element + kRowPadding; };
  const std::int64_t head_row = row_bytes(row.tile_columns(problem.head_dim));
  const std::int64_t value_row = row_bytes(row.tile_columns(problem.value_dim));
  const std::int64_t queries = row.query_tile * (row.query_stages * (head_row + kNumberBytes) +
                                                 row.grad_stages * (value_row + kNumberBytes));
  const std::int64_t shared_probability = row.column_warps > 1 ? row.query_tile * element : 0;
  const std::int64_t keys =
      row.key_tile * (head_row + value_row + row_bytes(row.query_tile) + shared_probability);
  return keys + queries + kVisitsBytes + kSearchBytes + kItemBytes;
}

}  // namespace tilewright::cuda
