#include "backends/cpu/row_tile.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace tilewright::cpu {

namespace {

std::int64_t stride_of(const TensorView& tensor, std::size_t axis) {
  // Strides of axes of extent 1 may hold anything (field report C093).
  return tensor.shape[axis] == 1 ? 0 : tensor.strides[axis];
}

template <class Real>
void fill(char* memory, std::int64_t count, double value) {
  std::fill_n(reinterpret_cast<Real*>(memory), count, static_cast<Real>(value));
}

}  // namespace

MatrixView head_matrix(const TensorView& tensor, std::int64_t b, std::int64_t h, TokenRange rows) {
  const auto bytes = static_cast<std::int64_t>(size_bytes(tensor.dtype));
  const std::int64_t offset =
      b * stride_of(tensor, 0) + h * stride_of(tensor, 1) + rows.begin * stride_of(tensor, 2);
  return {.data = static_cast<const char*>(tensor.data) + offset * bytes,
          .type = tensor.dtype,
          .rows = rows.size(),
          .columns = tensor.shape[3],
          .row_stride = stride_of(tensor, 2),
          .column_stride = stride_of(tensor, 3)};
}

RowTile::RowTile(const ForwardCall& call, const ForwardLayout& layout, char* memory)
    : call_(call), layout_(layout) {
  const auto take = [&memory](std::size_t bytes) {
    char* const begin = memory;
    memory += bytes;
    return begin;
  };
  query_ = take(layout.query_bytes);
  score_ = take(layout.score_bytes);
  prob_ = layout.prob_bytes == 0 ? score_ : take(layout.prob_bytes);
  out_ = take(layout.out_bytes);
  max_ = take(layout.statistics_bytes);
  shift_ = take(layout.statistics_bytes);
  sum_ = take(layout.statistics_bytes);
  alpha_ = take(layout.statistics_bytes);
  column_scratch_ = memory;
  prob_bytes_ = layout.prob_bytes == 0
                    ? layout.real_bytes
                    : static_cast<std::int64_t>(size_bytes(call.kernel->compute));
  prob_multiple_ = std::max<std::int64_t>(16, call.kernel->depth_multiple);
  step_alignment_ = layout.direct ? 1 : std::max<std::int64_t>(16, call.kernel->column_multiple);
}

void RowTile::run(const WorkItem& item, const PackedHeads& packed, PassFault& fault) {
  reset(item.rows());
  list_key_steps(call_, item, step_alignment_, steps_);
  if (steps_.empty()) return;
  if (!layout_.direct) load_query(item);
  for (const KeyStep& each : steps_) step(item, each, packed, fault);
}

void RowTile::reset(std::int64_t rows) {
  std::memset(out_, 0, static_cast<std::size_t>(rows * layout_.out_cols * layout_.real_bytes));
  std::memset(sum_, 0, static_cast<std::size_t>(rows * layout_.real_bytes));
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  for (char* statistic : {max_, shift_}) {
    if (layout_.real_bytes == 8)
      fill<double>(statistic, rows, kNone);
    else
      fill<float>(statistic, rows, kNone);
  }
}

void RowTile::load_query(const WorkItem& item) {
  const std::int64_t row_bytes = packed_query_row_bytes(*call_.kernel, call_.problem->head_dim);
  for (std::int64_t i = 0; i < item.heads; ++i) {
    const MatrixView rows = head_matrix(call_.inputs->query, item.b, item.h + i,
                                        {item.q_begin, item.q_begin + item.q_rows});
    call_.kernel->pack_query(rows, query_ + i * item.q_rows * row_bytes);
  }
}

void RowTile::step(const WorkItem& item, const KeyStep& step, const PackedHeads& packed,
                   PassFault& fault) {
  score(item, step, packed);
  run_pass(item, step, fault);
  output(item, step, packed);
}

const char* RowTile::chunk(const WorkItem& item, const KeyStep& step,
                           const PackedHeads& packed) const {
  const Problem& problem = *call_.problem;
  const std::int64_t unit =
      item.b * problem.kv_heads + item.h / problem.group() - packed.first_unit;
  const std::int64_t tile = step.kv_begin / call_.kv_tile_tokens;
  return packed.data + static_cast<std::size_t>(unit) * layout_.head_bytes +
         static_cast<std::size_t>(tile) * (layout_.key_chunk_bytes + layout_.value_chunk_bytes);
}

/// Rows of a direct call: the rows of one head, or one row of each head of a group.
MatrixView RowTile::query_view(const WorkItem& item) const {
  const TensorView& query = call_.inputs->query;
  MatrixView view = head_matrix(query, item.b, item.h, {item.q_begin, item.q_begin + item.q_rows});
  if (item.heads == 1) return view;
  view.rows = item.heads;
  view.row_stride = stride_of(query, 1);
  return view;
}

void RowTile::score(const WorkItem& item, const KeyStep& step, const PackedHeads& packed) {
  const Problem& problem = *call_.problem;
  if (layout_.direct) {
    const std::int64_t kv_b = problem.kv_batch == 1 ? 0 : item.b;
    const TokenRange keys{step.kv_begin, step.kv_begin + step.cols};
    return call_.kernel->score_direct(
        {.query = query_view(item),
         .key = head_matrix(call_.inputs->key, kv_b, item.h / problem.group(), keys),
         .score = score_,
         .score_stride = layout_.score_cols});
  }
  const std::int64_t panel = step.kv_begin % call_.kv_tile_tokens / call_.kernel->column_multiple;
  const char* key =
      chunk(item, step, packed) + panel * packed_key_panel_bytes(*call_.kernel, problem.head_dim);
  call_.kernel->score_tile({.query = query_,
                            .key = key,
                            .score = score_,
                            .score_stride = layout_.score_cols,
                            .rows = item.rows(),
                            .kv = step.cols,
                            .depth = problem.head_dim});
}

void RowTile::run_pass(const WorkItem& item, const KeyStep& step, PassFault& fault) {
  const LoadedPass::Run& pass = step.masked ? call_.pass->masked : call_.pass->full;
  const std::int64_t prob_cols = (step.cols + prob_multiple_ - 1) / prob_multiple_ * prob_multiple_;
  for (std::int64_t i = 0; i < item.heads; ++i) {
    const std::int64_t first = i * item.q_rows;
    const PassTile tile{.score = score_ + first * layout_.score_cols * layout_.real_bytes,
                        .prob = prob_ + first * layout_.score_cols * prob_bytes_,
                        .score_stride = layout_.score_cols,
                        .prob_stride = layout_.score_cols,
                        .rows = item.q_rows,
                        .col_begin = step.col_begin,
                        .col_end = step.col_end,
                        .prob_cols = prob_cols,
                        .b = item.b,
                        .h = item.h + i,
                        .q_begin = call_.problem->q_base + item.q_begin,
                        .kv_begin = call_.problem->kv_base + step.kv_begin,
                        .row_max = row(max_, first),
                        .row_shift = row(shift_, first),
                        .row_sum = row(sum_, first),
                        .row_alpha = row(alpha_, first),
                        .column_scratch = column_scratch_,
                        .fault = &fault};
    pass(&call_.pass_call, &tile);
  }
}

/// Direct products take P in the accumulator type; the score pass wrote it in the kernel's,
/// narrower one.
void RowTile::widen_prob(std::int64_t rows, std::int64_t cols) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto* narrow = reinterpret_cast<const std::uint16_t*>(prob_) + r * layout_.score_cols;
    auto* wide = reinterpret_cast<float*>(score_) + r * layout_.score_cols;
    for (std::int64_t c = 0; c < cols; ++c) wide[c] = bf16_to_float(narrow[c]);
  }
}

/// The factors of O, or null where no row's shift moved, which is nearly every step after a row's
/// first.
const void* RowTile::row_factors(std::int64_t rows) const {
  const auto is_one = [](auto factor) { return factor == 1; };
  const bool none_moved = layout_.real_bytes == 8
                              ? std::all_of(reinterpret_cast<double*>(alpha_),
                                            reinterpret_cast<double*>(alpha_) + rows, is_one)
                              : std::all_of(reinterpret_cast<float*>(alpha_),
                                            reinterpret_cast<float*>(alpha_) + rows, is_one);
  return none_moved ? nullptr : alpha_;
}

void RowTile::output(const WorkItem& item, const KeyStep& step, const PackedHeads& packed) {
  const Problem& problem = *call_.problem;
  if (layout_.direct) {
    const std::int64_t kv_b = problem.kv_batch == 1 ? 0 : item.b;
    const TokenRange keys{step.kv_begin, step.kv_begin + step.cols};
    if (prob_ != score_) widen_prob(item.rows(), step.cols);
    return call_.kernel->output_direct(
        {.probability = score_,
         .probability_stride = layout_.score_cols,
         .rows = item.rows(),
         .value = head_matrix(call_.inputs->value, kv_b, item.h / problem.group(), keys),
         .output = out_,
         .output_stride = layout_.out_cols,
         .row_factor = row_factors(item.rows())});
  }
  call_.kernel->output_tile(
      {.probability = prob_,
       .probability_stride = layout_.score_cols,
       .value = chunk(item, step, packed) + layout_.key_chunk_bytes,
       .value_rows =
           std::min(call_.kv_tile_tokens,
                    problem.kv_len - step.kv_begin / call_.kv_tile_tokens * call_.kv_tile_tokens),
       .kv_begin = step.kv_begin % call_.kv_tile_tokens,
       .output = out_,
       .output_stride = layout_.out_cols,
       .row_factor = row_factors(item.rows()),
       .rows = item.rows(),
       .kv = step.cols,
       .columns = problem.value_dim});
}

}  // namespace tilewright::cpu
