#include "backends/cpu/row_tile.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tilewright::cpu {

namespace {

template <class Real>
void fill(char* memory, std::int64_t count, double value) {
  std::fill_n(reinterpret_cast<Real*>(memory), count, static_cast<Real>(value));
}

}  // namespace

RowTile::RowTile(const ForwardCall& call, const ForwardLayout& layout, char* memory)
    : call_(call), layout_(layout), tiles_(call) {
  const auto take = [&memory](std::size_t bytes) {
    char* const begin = memory;
    memory += bytes;
    return begin;
  };
  query_ = take(layout.query_bytes);
  score_ = take(layout.score_bytes);
  prob_ = take(layout.prob_bytes);
  if (layout.exact_prob_bytes != 0)
    exact_prob_ = reinterpret_cast<float*>(take(layout.exact_prob_bytes));
  out_ = take(layout.out_bytes);
  max_ = take(layout.statistics_bytes);
  shift_ = take(layout.statistics_bytes);
  sum_ = take(layout.statistics_bytes);
  alpha_ = take(layout.statistics_bytes);
  column_scratch_ = memory;
  prob_bytes_ = static_cast<std::int64_t>(size_bytes(call.kernel->compute));
  prob_multiple_ = std::max<std::int64_t>(16, call.kernel->depth_multiple);
  step_alignment_ = layout.direct ? 1 : std::max<std::int64_t>(16, call.kernel->column_multiple);
}

void RowTile::run(const WorkItem& item, PackedChunks* packed, PassFault& fault) {
  reset(item.rows());
  walk_.start(call_, item, step_alignment_);
  if (walk_.empty()) return;
  if (packed != nullptr) load_query(item);
  for (RowStep step; walk_.next(step);) {
    if (packed != nullptr)
      chunk_ = packed->chunk(item.b, item.h, step.step.kv_begin / call_.kv_tile_tokens);
    const std::int64_t end = step.row_begin + step.rows;
    for (RowStep block = step; block.row_begin < end; block.row_begin += block.rows) {
      block.rows = block_rows(end - block.row_begin);
      run_block(item, block, fault);
    }
  }
  if (packed != nullptr) packed->release(item, tiles_.of(item));
}

/// Blocks of nearly equal height, because a low last one would use the registers badly.
std::int64_t RowTile::block_rows(std::int64_t rows) const {
  const std::int64_t blocks = (rows + call_.score_rows - 1) / call_.score_rows;
  const std::int64_t even = (rows + blocks - 1) / blocks;
  const std::int64_t multiple = call_.kernel->row_multiple;
  return std::min({rows, call_.score_rows, (even + multiple - 1) / multiple * multiple});
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

/// Rows that already are what packing would make of them: contiguous, of the compute type, no
/// padding.
bool RowTile::reads_query_in_place(const WorkItem& item) const {
  const TensorView& query = call_.inputs->query;
  const std::int64_t depth = call_.problem->head_dim;
  return item.heads == 1 && query.dtype == call_.kernel->compute && query.strides[3] == 1 &&
         query.strides[2] == depth && depth % call_.kernel->depth_multiple == 0;
}

void RowTile::load_query(const WorkItem& item) {
  const std::int64_t row_bytes = packed_query_row_bytes(*call_.kernel, call_.problem->head_dim);
  query_rows_ = query_;
  if (reads_query_in_place(item)) {
    const TokenRange rows{item.q_begin, item.q_begin + item.q_rows};
    query_rows_ =
        static_cast<const char*>(head_matrix(call_.inputs->query, item.b, item.h, rows).data);
    return;
  }
  for (std::int64_t i = 0; i < item.heads; ++i) {
    const MatrixView rows = head_matrix(call_.inputs->query, item.b, item.h + i,
                                        {item.q_begin, item.q_begin + item.q_rows});
    call_.kernel->pack_query(rows, query_ + i * item.q_rows * row_bytes);
  }
}

void RowTile::run_block(const WorkItem& item, const RowStep& block, PassFault& fault) {
  layout_.direct ? score_direct(item, block) : score(block);
  run_pass(item, block, fault);
  layout_.direct ? output_direct(item, block) : output(item, block);
}

void RowTile::score(const RowStep& block) {
  const KeyStep& step = block.step;
  const std::int64_t depth = call_.problem->head_dim;
  const std::int64_t panel = step.kv_begin % call_.kv_tile_tokens / call_.kernel->column_multiple;
  call_.kernel->score_tile(
      {.query = query_rows_ + block.row_begin * packed_query_row_bytes(*call_.kernel, depth),
       .key = chunk_ + panel * packed_key_panel_bytes(*call_.kernel, depth),
       .score = score_,
       .score_stride = layout_.score_cols,
       .rows = block.rows,
       .kv = step.cols,
       .depth = depth});
}

void RowTile::run_pass(const WorkItem& item, const RowStep& block, PassFault& fault) {
  const KeyStep& step = block.step;
  const LoadedPass::Run& pass = step.masked ? call_.pass->masked : call_.pass->full;
  const std::int64_t prob_cols = (step.cols + prob_multiple_ - 1) / prob_multiple_ * prob_multiple_;
  const std::int64_t end = block.row_begin + block.rows;
  for (std::int64_t r = block.row_begin; r < end;) {
    const std::int64_t q = r % item.q_rows;
    const std::int64_t rows = std::min(end - r, item.q_rows - q);
    const std::int64_t first = r - block.row_begin;
    const PassTile tile{
        .score = score_ + first * layout_.score_cols * layout_.real_bytes,
        .prob = prob_ + first * layout_.score_cols * prob_bytes_,
        .exact_prob = exact_prob_ == nullptr ? nullptr : exact_prob_ + first * layout_.score_cols,
        .score_stride = layout_.score_cols,
        .prob_stride = layout_.score_cols,
        .rows = rows,
        .col_begin = step.col_begin,
        .col_end = step.col_end,
        .prob_cols = prob_cols,
        .b = item.b,
        .h = item.h + r / item.q_rows,
        .q_begin = call_.problem->q_base + item.q_begin + q,
        .kv_begin = call_.problem->kv_base + step.kv_begin,
        .row_max = row(max_, r),
        .row_shift = row(shift_, r),
        .row_sum = row(sum_, r),
        .row_alpha = row(alpha_, r),
        .column_scratch = column_scratch_,
        .fault = &fault};
    pass(&call_.pass_call, &tile);
    r += rows;
  }
}

/// The factors of O, or null where no row's shift moved, which is nearly every step after a row's
/// first.
const void* RowTile::row_factors(const RowStep& block) const {
  const auto is_one = [](auto factor) { return factor == 1; };
  const char* const begin = row(alpha_, block.row_begin);
  const char* const end = row(alpha_, block.row_begin + block.rows);
  const bool none_moved = layout_.real_bytes == 8
                              ? std::all_of(reinterpret_cast<const double*>(begin),
                                            reinterpret_cast<const double*>(end), is_one)
                              : std::all_of(reinterpret_cast<const float*>(begin),
                                            reinterpret_cast<const float*>(end), is_one);
  return none_moved ? nullptr : begin;
}

/// Only the keys from the first live one on: the probabilities before it are zero.
void RowTile::output(const WorkItem& item, const RowStep& block) {
  const KeyStep& step = block.step;
  const std::int64_t skipped =
      step.col_begin / call_.kernel->depth_multiple * call_.kernel->depth_multiple;
  const std::int64_t tile_begin = step.kv_begin / call_.kv_tile_tokens * call_.kv_tile_tokens;
  call_.kernel->output_tile(
      {.probability = prob_ + skipped * prob_bytes_,
       .probability_stride = layout_.score_cols,
       .value = chunk_ + layout_.key_chunk_bytes,
       .value_rows = std::min(call_.kv_tile_tokens, call_.keys_of(item.b) - tile_begin),
       .kv_begin = step.kv_begin - tile_begin + skipped,
       .output = out_row(block.row_begin),
       .output_stride = layout_.out_cols,
       .row_factor = row_factors(block),
       .rows = block.rows,
       .kv = step.cols - skipped,
       .columns = call_.problem->value_dim});
}

/// Rows of a direct call: rows of one head, or one row of each head of a group.
MatrixView RowTile::query_view(const WorkItem& item, const RowStep& block) const {
  const TensorView& query = call_.inputs->query;
  if (item.heads == 1) {
    const std::int64_t begin = item.q_begin + block.row_begin;
    return head_matrix(query, item.b, item.h, {begin, begin + block.rows});
  }
  MatrixView view =
      head_matrix(query, item.b, item.h + block.row_begin, {item.q_begin, item.q_begin + 1});
  view.rows = block.rows;
  view.row_stride = query.shape[1] == 1 ? 0 : query.strides[1];
  return view;
}

void RowTile::score_direct(const WorkItem& item, const RowStep& block) {
  const Problem& problem = *call_.problem;
  const KeyStep& step = block.step;
  const std::int64_t kv_b = problem.kv_batch == 1 ? 0 : item.b;
  const TokenRange keys{step.kv_begin, step.kv_begin + step.cols};
  call_.kernel->score_direct(
      {.query = query_view(item, block),
       .key = head_matrix(call_.inputs->key, kv_b, item.h / problem.group(), keys),
       .score = score_,
       .score_stride = layout_.score_cols});
}

void RowTile::output_direct(const WorkItem& item, const RowStep& block) {
  const Problem& problem = *call_.problem;
  const KeyStep& step = block.step;
  const std::int64_t kv_b = problem.kv_batch == 1 ? 0 : item.b;
  const TokenRange keys{step.kv_begin, step.kv_begin + step.cols};
  call_.kernel->output_direct(
      {.probability = exact_prob_ != nullptr ? static_cast<const void*>(exact_prob_) : prob_,
       .probability_stride = layout_.score_cols,
       .rows = block.rows,
       .value = head_matrix(call_.inputs->value, kv_b, item.h / problem.group(), keys),
       .output = out_row(block.row_begin),
       .output_stride = layout_.out_cols,
       .row_factor = row_factors(block)});
}

}  // namespace tilewright::cpu
