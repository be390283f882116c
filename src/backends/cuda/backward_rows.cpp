#include "backends/cuda/backward_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "backends/cuda/portable_backward_rows.h"

namespace tilewright::cuda {

namespace {

constexpr std::int64_t kBackwardChunk = 64;

struct BackwardShape {
  int query_tile;
  bool splits_keys;
  std::int64_t max_head_dim;
};

/// docs/kernels/hopper_backward.md says why.
constexpr std::array<BackwardShape, 3> kBackwardShapes{
    {{128, true, 64}, {64, true, 128}, {64, false, 256}}};

std::int64_t chunks_of(std::int64_t columns) noexcept {
  return (columns + kBackwardChunk - 1) / kBackwardChunk;
}

/// ColumnHalves::kOwnColumns.
std::int64_t own_columns(std::int64_t columns) noexcept {
  return chunks_of(columns) == 1 ? columns : (chunks_of(columns) + 1) / 2 * kBackwardChunk;
}

BackwardRow backward_row(const BackwardShape& shape, const RowQuestion& question) {
  BackwardRow row;
  row.query_tile = shape.query_tile;
  row.splits_keys = shape.splits_keys;
  row.key_tile = shape.splits_keys ? 128 : 64;
  row.max_head_dim = shape.max_head_dim;
  row.name = fmt::format("hopper_backward_{}{}_s{}{}", shape.splits_keys ? "m" : "c",
                         shape.query_tile, row.query_stages, row.grad_stages);
  if (question.block_lists) row.name += "_lists";
  if (question.device_lengths) row.name += "_lengths";
  row.walks_lists = question.block_lists;
  row.reads_lengths = question.device_lengths;
  return row;
}

std::string backward_rejection(const RowQuestion& question) {
  const Problem& problem = question.problem;
  if (question.device.capability() != 90)
    return fmt::format("needs compute capability 9.0, the device has {}.{}", question.device.major,
                       question.device.minor);
  const DType dtype = problem.query_dtype;
  if (dtype != DType::kBF16 && dtype != DType::kF16)
    return fmt::format("serves bf16 and f16, not {}", name(dtype));
  if (problem.key_dtype != dtype || problem.value_dtype != dtype)
    return "query, key and value must have one dtype";
  if (problem.kv_layout != KvLayout::kDense) return "keys and values must be dense";
  if (question.any_layout)
    return "the copy engine needs 16-byte aligned bases and strides and innermost stride 1";
  if (problem.head_dim % 8 != 0 || problem.value_dim % 8 != 0)
    return "head dims must be multiples of 8";
  return {};
}

std::string dims_rejection(const BackwardShape& shape, const Problem& problem) {
  const std::int64_t least = std::min(problem.head_dim, problem.value_dim);
  const std::int64_t most = std::max(problem.head_dim, problem.value_dim);
  if (least >= 8 && most <= shape.max_head_dim) return {};
  return fmt::format("serves head dims 8 to {}", shape.max_head_dim);
}

/// A tile in shared memory: chunks of 64 columns of 16-bit elements.
std::int64_t backward_tile_bytes(std::int64_t rows, std::int64_t columns) noexcept {
  return chunks_of(columns) * rows * kBackwardChunk * 2;
}

}  // namespace

std::int64_t BackwardRow::query_columns(std::int64_t head_dim) const noexcept {
  return sums_by_rows() ? head_dim : own_columns(head_dim);
}
std::int64_t BackwardRow::key_columns(std::int64_t dim) const noexcept {
  return splits_keys ? dim : own_columns(dim);
}
std::int64_t BackwardRow::tile_columns(std::int64_t dim) const noexcept {
  return std::max<std::int64_t>(1, (dim + dim_unit - 1) / dim_unit) * dim_unit;
}
std::int64_t BackwardRow::query_sum_floats(std::int64_t head_dim) const noexcept {
  if (family == Family::kPortable) return query_tile * tile_columns(head_dim);
  return 2 * 64 * query_columns(head_dim);
}
std::int64_t BackwardRow::key_sum_floats(std::int64_t dim) const noexcept {
  if (family == Family::kPortable) return key_tile * tile_columns(dim);
  return 2 * 64 * key_columns(dim);
}

std::vector<BackwardCandidate> backward_candidates(const RowQuestion& question) {
  std::vector<BackwardCandidate> all;
  const std::string family = backward_rejection(question);
  for (const BackwardShape& shape : kBackwardShapes)
    all.push_back({.row = backward_row(shape, question),
                   .rejection = family.empty() ? dims_rejection(shape, question.problem) : family});
  std::vector<BackwardCandidate> portable = portable_backward_candidates(question);
  // Some of the Hopper rows that read lengths did not end on a GPU, and have not run there since
  // they were mended: they serve calls that insist on them.
  const auto place = question.device_lengths ? all.begin() : all.end();
  all.insert(place, std::make_move_iterator(portable.begin()),
             std::make_move_iterator(portable.end()));
  for (BackwardCandidate& candidate : all)
    candidate.row.block_shared_bytes = question.device.block_shared_bytes;
  return all;
}

std::int64_t backward_shared_bytes(const BackwardRow& row, const Problem& problem) {
  if (row.family == Family::kPortable) return portable_backward_shared_bytes(row, problem);
  constexpr std::int64_t kItemSlots = 2, kItemBytes = 32, kNoteBytes = 16;
  constexpr std::int64_t kBarrierBytes = 8, kTurnBarriers = 48, kTileKeysBytes = 48;
  const std::int64_t sides = row.splits_keys ? 4 : 2;
  const std::int64_t tiles =
      backward_tile_bytes(row.key_tile, problem.head_dim) +
      backward_tile_bytes(row.key_tile, problem.value_dim) +
      row.query_stages * backward_tile_bytes(row.query_tile, problem.head_dim) +
      row.grad_stages * backward_tile_bytes(row.query_tile, problem.value_dim);
  const std::int64_t scores =
      sides * (row.splits_keys ? 1 : 2) * backward_tile_bytes(row.key_tile, row.query_tile);
  const std::int64_t stages = row.query_stages + row.grad_stages;
  const bool sees_words = row.walks_lists || row.reads_lengths;
  const std::int64_t barriers = 2 * (2 + stages + kItemSlots) + sides + kTurnBarriers;
  return tiles + scores + stages * row.query_tile * 4 + kItemSlots * kItemBytes +
         4 * row.query_stages * kNoteBytes + barriers * kBarrierBytes +
         (sees_words ? row.query_stages * kTileKeysBytes : 0);
}

}  // namespace tilewright::cuda
