#include <algorithm>

#include "backends/cpu/forward_call.h"

namespace tilewright::cpu {

namespace {

std::size_t aligned(std::int64_t bytes) {
  return static_cast<std::size_t>((bytes + kPanelAlignment - 1) / kPanelAlignment *
                                  kPanelAlignment);
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Score and prob tiles are padded to 16 columns (the score pass), to the kernel's panel width and
/// to its depth.
std::int64_t padded_score_cols(const MicroKernel& kernel, std::int64_t cols) {
  return round_up(cols,
                  std::max({std::int64_t{16}, kernel.column_multiple, kernel.depth_multiple}));
}

bool has_narrow_prob(const MicroKernel& kernel) { return kernel.compute != kernel.accumulator; }

}  // namespace

bool reads_keys_in_place(const ForwardCall& call) {
  const Problem& problem = *call.problem;
  if (problem.q_len * problem.group() <= kDirectRows) return true;
  const std::int64_t rows = problem.batch * problem.query_heads * problem.q_len;
  return has_narrow_prob(*call.kernel) && rows * problem.value_dim < kFewOutputs;
}

ForwardLayout forward_layout(const ForwardCall& call) {
  const Problem& problem = *call.problem;
  const MicroKernel& kernel = *call.kernel;
  const std::int64_t rows = call.q_tile_rows;
  ForwardLayout layout;
  layout.direct = reads_keys_in_place(call);
  layout.real_bytes = kernel.accumulator == DType::kF64 ? 8 : 4;
  layout.score_cols = padded_score_cols(kernel, call.kv_tile_tokens);
  layout.out_cols = padded_columns(kernel, problem.value_dim);
  layout.key_chunk_bytes = aligned(packed_key_bytes(kernel, call.kv_tile_tokens, problem.head_dim));
  layout.value_chunk_bytes =
      aligned(packed_value_bytes(kernel, call.kv_tile_tokens, problem.value_dim));
  layout.chunks = (problem.kv_len + call.kv_tile_tokens - 1) / call.kv_tile_tokens;
  layout.head_bytes =
      static_cast<std::size_t>(layout.chunks) * (layout.key_chunk_bytes + layout.value_chunk_bytes);
  layout.query_bytes = aligned(packed_query_bytes(kernel, rows, problem.head_dim));
  layout.score_bytes = aligned(call.score_rows * layout.score_cols * layout.real_bytes);
  layout.prob_bytes = aligned(call.score_rows * layout.score_cols *
                              static_cast<std::int64_t>(size_bytes(kernel.compute)));
  if (layout.direct && has_narrow_prob(kernel)) layout.exact_prob_bytes = layout.score_bytes;
  layout.out_bytes = aligned(rows * layout.out_cols * layout.real_bytes);
  layout.statistics_bytes = aligned(rows * layout.real_bytes);
  layout.worker_bytes = layout.query_bytes + layout.score_bytes + layout.prob_bytes +
                        layout.exact_prob_bytes + layout.out_bytes + 4 * layout.statistics_bytes +
                        aligned(static_cast<std::int64_t>(call.column_scratch_bytes));
  layout.partial_bytes = layout.out_bytes + 3 * layout.statistics_bytes;
  return layout;
}

}  // namespace tilewright::cpu
