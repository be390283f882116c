#include <algorithm>

#include "backends/cpu/backward_call.h"

namespace tilewright::cpu {

namespace {

std::size_t aligned(std::int64_t bytes) {
  return static_cast<std::size_t>((bytes + kPanelAlignment - 1) / kPanelAlignment *
                                  kPanelAlignment);
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Rows of a tile lie a cache line past a power of two apart: columns of it are read as well, and
/// must not all fall into one set of the cache.
constexpr std::int64_t kStrideSkew = 16;

/// Under block lists rows are cut where the lists' query blocks end, so that each has one list.
std::int64_t rows_until_cut(const BackwardCall& call, std::int64_t q) {
  const std::int64_t rows = std::min(call.q_tile_rows, call.problem->q_len - q);
  if (call.map == nullptr || !call.lists_rule) return rows;
  const std::int64_t block = call.map->options().q_block;
  return std::min(rows, block - q % block);
}

void size_blocks(const BackwardCall& call, BackwardLayout& layout) {
  const MicroKernel& kernel = *call.kernel;
  const Problem& problem = *call.problem;
  const std::int64_t rows = call.q_tile_rows;
  layout.query_a = aligned(packed_query_bytes(kernel, rows, problem.head_dim));
  if (call.reads_d_prob())
    layout.d_out_a = aligned(packed_query_bytes(kernel, rows, problem.value_dim));
  if (call.wants_d_key())
    layout.query_b = aligned(packed_value_bytes(kernel, rows, problem.head_dim));
  if (call.wants_d_value())
    layout.d_out_b = aligned(packed_value_bytes(kernel, rows, problem.value_dim));
  if (call.wants_d_query()) layout.d_query = aligned(rows * layout.head_cols * layout.real_bytes);
  layout.statistic = aligned(rows * layout.real_bytes);
  layout.block_bytes = layout.query_a + layout.query_b + layout.d_out_a + layout.d_out_b +
                       2 * layout.statistic + layout.d_query;
}

void size_worker(const BackwardCall& call, BackwardLayout& layout) {
  const MicroKernel& kernel = *call.kernel;
  const Problem& problem = *call.problem;
  const std::int64_t rows = call.q_tile_rows;
  const std::int64_t keys = call.kv_tile_tokens;
  layout.key_b = aligned(packed_key_bytes(kernel, keys, problem.head_dim));
  if (call.reads_d_prob())
    layout.value_b = aligned(packed_key_bytes(kernel, keys, problem.value_dim));
  if (call.wants_d_query())
    layout.key_turned = aligned(packed_value_bytes(kernel, keys, problem.head_dim));
  // A product writes whole groups of columns of its last key.
  if (call.wants_d_key()) layout.d_key = aligned(keys * layout.head_cols * layout.real_bytes);
  if (call.wants_d_value()) layout.d_value = aligned(keys * layout.value_cols * layout.real_bytes);
  layout.score = aligned(rows * layout.score_stride * layout.real_bytes);
  if (kernel.compute != kernel.accumulator)
    layout.prob = aligned(rows * layout.score_stride * layout.compute_bytes);
  layout.turned = aligned(round_up(keys, 8) * layout.turned_stride * layout.compute_bytes);
  layout.staging =
      aligned(rows * std::max(problem.head_dim, problem.value_dim) * layout.real_bytes);
  layout.column_scratch = aligned(static_cast<std::int64_t>(call.column_scratch_bytes));
  const std::int64_t side = kernel.column_multiple;
  layout.diagonal_key = aligned(packed_key_bytes(kernel, side, problem.value_dim));
  layout.diagonal_score = aligned(side * side * layout.real_bytes);
  layout.worker_bytes = layout.key_b + layout.key_turned + layout.value_b + layout.d_key +
                        layout.d_value + 2 * layout.score + 2 * layout.prob + layout.turned +
                        2 * layout.staging + layout.diagonal_key + layout.diagonal_score +
                        layout.column_scratch;
}

}  // namespace

BackwardTile backward_tile(const MicroKernel& kernel) {
  constexpr std::int64_t kTargetRows = 64;
  BackwardTile tile;
  // Blocks of the micro-kernel's height use its registers best.
  tile.q_rows = std::max<std::int64_t>(1, kTargetRows / kernel.row_multiple) * kernel.row_multiple;
  tile.kv_tokens = kernel.compute == DType::kBF16 ? 256 : 128;
  return tile;
}

std::vector<RowBlock> row_blocks(const BackwardCall& call) {
  const Problem& problem = *call.problem;
  const std::int64_t batches = problem.kv_batch == 1 ? problem.batch : 1;
  std::vector<RowBlock> blocks;
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t h = 0; h < problem.group(); ++h)
      for (std::int64_t q = 0; q < problem.q_len;) {
        const std::int64_t rows = rows_until_cut(call, q);
        blocks.push_back({.b = b, .h = h, .q_begin = q, .q_rows = rows});
        q += rows;
      }
  return blocks;
}

BackwardLayout backward_layout(const BackwardCall& call) {
  const MicroKernel& kernel = *call.kernel;
  const Problem& problem = *call.problem;
  BackwardLayout layout;
  layout.real_bytes = static_cast<std::int64_t>(size_bytes(kernel.accumulator));
  layout.compute_bytes = static_cast<std::int64_t>(size_bytes(kernel.compute));
  const std::int64_t multiple =
      std::max({std::int64_t{16}, kernel.column_multiple, kernel.depth_multiple});
  layout.score_stride = round_up(call.kv_tile_tokens, multiple) + 2 * kStrideSkew;
  layout.head_cols = padded_columns(kernel, problem.head_dim);
  layout.value_cols = padded_columns(kernel, problem.value_dim);
  if (kernel.transposed_tile == nullptr)
    layout.turned_stride = round_up(call.q_tile_rows, multiple);
  size_blocks(call, layout);
  size_worker(call, layout);
  return layout;
}

}  // namespace tilewright::cpu
