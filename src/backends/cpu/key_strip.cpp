#include "backends/cpu/key_strip.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/gradient_pass.h"
#include "backends/cpu/stored_rows.h"
#include "backends/cpu/turn_tile.h"

namespace tilewright::cpu {

namespace {

/// Lets strips that wait for this one go on, whatever ends it.
class Finisher {
 public:
  Finisher(StripOrder& order, const StripOrder::Strip& strip) : order_(order), strip_(strip) {}
  ~Finisher() { order_.finish(strip_); }
  Finisher(const Finisher&) = delete;
  Finisher& operator=(const Finisher&) = delete;

 private:
  StripOrder& order_;
  const StripOrder::Strip& strip_;
};

}  // namespace

BlockPlace block_place(const BackwardCall& call, const UnitBlocks& units, std::int64_t unit,
                       std::int64_t block) {
  const Problem& problem = *call.problem;
  const RowBlock& rows = (*units.blocks)[static_cast<std::size_t>(block)];
  const std::int64_t at = units.first_unit + unit;
  const std::int64_t b = problem.kv_batch == 1 ? 0 : at / problem.kv_heads;
  return {.b = b + rows.b,
          .h = at % problem.kv_heads * problem.group() + rows.h,
          .rows = {rows.q_begin, rows.q_begin + rows.q_rows}};
}

BlockMemory block_memory(const BackwardLayout& layout, const UnitBlocks& units, std::int64_t unit,
                         std::int64_t block) {
  const std::int64_t index = unit * units.per_unit() + block;
  return {layout, units.memory + static_cast<std::size_t>(index) * layout.block_bytes};
}

KeyStrip::KeyStrip(const BackwardCall& call, const BackwardLayout& layout, char* memory)
    : call_(call), layout_(layout), kernel_(*call.kernel) {
  const auto take = [&memory](std::size_t bytes) {
    char* const begin = memory;
    memory += bytes;
    return begin;
  };
  key_b_ = take(layout.key_b);
  key_turned_ = take(layout.key_turned);
  value_b_ = take(layout.value_b);
  d_key_ = take(layout.d_key);
  d_value_ = take(layout.d_value);
  score_ = take(layout.score);
  d_prob_ = take(layout.score);
  prob_ = layout.prob == 0 ? score_ : take(layout.prob);
  d_score_ = layout.prob == 0 ? d_prob_ : take(layout.prob);
  turned_ = take(layout.turned);
  column_scratch_ = take(layout.column_scratch);
  prob_multiple_ = std::max<std::int64_t>(16, kernel_.depth_multiple);
  step_alignment_ = std::max<std::int64_t>(16, kernel_.column_multiple);
}

void KeyStrip::run(const StripOrder::Strip& strip, const UnitBlocks& units, StripOrder& order,
                   const std::vector<void*>& capture_sums, PassFault& fault) {
  const Finisher finisher(order, strip);
  capture_sums_ = capture_sums.data();
  fault_ = &fault;
  begin(strip, units);
  order.wait_for_turns(strip);
  for (std::int64_t block = 0; block < units.per_unit(); ++block) {
    meet(strip,
         {.place = block_place(call_, units, strip.unit, block),
          .memory = block_memory(layout_, units, strip.unit, block)},
         order, block);
    if (!call_.wants_d_query()) continue;
    order.wait_for_block(strip, block);
    order.pass_blocks(strip, block + 1);
  }
  store_keys();
}

/// Places the strip and clears its keys' gradients.
void KeyStrip::begin(const StripOrder::Strip& strip, const UnitBlocks& units) {
  const Problem& problem = *call_.problem;
  const std::int64_t unit = units.first_unit + strip.unit;
  kv_b_ = unit / problem.kv_heads;
  kv_h_ = unit % problem.kv_heads;
  const std::int64_t begin = strip.chunk * call_.kv_tile_tokens;
  keys_ = {begin, std::min(begin + call_.kv_tile_tokens, problem.kv_len)};
  packed_ = {begin, begin};
  std::memset(d_key_, 0, layout_.d_key);
  std::memset(d_value_, 0, layout_.d_value);
}

/// Batch entries that share keys may have different numbers of them: what lies behind the length of
/// one must not meet its products, whatever it holds (R11).
void KeyStrip::pack_keys(TokenRange keys) {
  if (packed_.end == keys.end) return;
  packed_ = keys;
  const MatrixView key = head_rows(call_.inputs->key, kv_b_, kv_h_, keys);
  kernel_.pack_key(key, key_b_);
  if (layout_.key_turned != 0) kernel_.pack_value(key, key_turned_);
  if (layout_.value_b != 0)
    kernel_.pack_key(head_rows(call_.inputs->value, kv_b_, kv_h_, keys), value_b_);
}

void KeyStrip::meet(const StripOrder::Strip& strip, const Meeting& meeting, const StripOrder& order,
                    std::int64_t block) {
  const TokenRange keys{keys_.begin, std::min(keys_.end, call_.keys_of(meeting.place.b))};
  list_strip_steps(call_, meeting.place, keys, step_alignment_, steps_);
  if (!steps_.empty()) pack_keys(keys);
  for (const StripStep& step : steps_) {
    score(meeting, step);
    run_pass(meeting, step);
    add_transposed(meeting, step);
    if (!call_.wants_d_query()) continue;
    order.wait_for_block(strip, block);
    add_d_query(meeting, step);
  }
}

std::int64_t KeyStrip::prob_cols(const StripStep& step) const {
  return (step.cols + prob_multiple_ - 1) / prob_multiple_ * prob_multiple_;
}

void KeyStrip::score(const Meeting& meeting, const StripStep& step) {
  const Problem& problem = *call_.problem;
  const std::int64_t panel = offset(step) / kernel_.column_multiple;
  kernel_.score_tile({.query = meeting.memory.query_a,
                      .key = key_b_ + panel * packed_key_panel_bytes(kernel_, problem.head_dim),
                      .score = score_,
                      .score_stride = layout_.score_stride,
                      .rows = meeting.place.rows.size(),
                      .kv = step.cols,
                      .depth = problem.head_dim});
  if (!call_.reads_d_prob()) return;
  kernel_.score_tile({.query = meeting.memory.d_out_a,
                      .key = value_b_ + panel * packed_key_panel_bytes(kernel_, problem.value_dim),
                      .score = d_prob_,
                      .score_stride = layout_.score_stride,
                      .rows = meeting.place.rows.size(),
                      .kv = step.cols,
                      .depth = problem.value_dim});
}

void KeyStrip::run_pass(const Meeting& meeting, const StripStep& step) {
  const LoadedPass::Run& pass = step.masked ? call_.pass->masked : call_.pass->full;
  const Problem& problem = *call_.problem;
  GradientTile tile;
  tile.pass.score = score_;
  tile.pass.prob = prob_;
  tile.pass.score_stride = layout_.score_stride;
  tile.pass.prob_stride = layout_.score_stride;
  tile.pass.rows = meeting.place.rows.size();
  tile.pass.col_begin = step.col_begin;
  tile.pass.col_end = step.col_end;
  tile.pass.prob_cols = prob_cols(step);
  tile.pass.b = meeting.place.b;
  tile.pass.h = meeting.place.h;
  tile.pass.q_begin = problem.q_base + meeting.place.rows.begin;
  tile.pass.kv_begin = problem.kv_base + step.kv_begin;
  tile.pass.column_scratch = column_scratch_;
  tile.pass.fault = fault_;
  tile.d_prob = d_prob_;
  tile.d_score = d_score_;
  tile.row_lse = meeting.memory.lse;
  tile.row_delta = meeting.memory.delta;
  tile.capture_sums = capture_sums_;
  pass(&call_.pass_call, &tile.pass);
}

void KeyStrip::add_d_query(const Meeting& meeting, const StripStep& step) {
  kernel_.output_tile({.probability = d_score_,
                       .probability_stride = layout_.score_stride,
                       .value = key_turned_,
                       .value_rows = packed_.size(),
                       .kv_begin = offset(step),
                       .output = meeting.memory.d_query,
                       .output_stride = layout_.head_cols,
                       .row_factor = nullptr,
                       .rows = meeting.place.rows.size(),
                       .kv = step.cols,
                       .columns = call_.problem->head_dim});
}

void KeyStrip::add_transposed(const Meeting& meeting, const StripStep& step) {
  const Problem& problem = *call_.problem;
  if (call_.wants_d_value())
    add_product({.left = prob_,
                 .right = meeting.memory.d_out_b,
                 .sums = d_value_ + offset(step) * layout_.value_cols * layout_.real_bytes,
                 .columns = problem.value_dim},
                meeting, step);
  if (call_.wants_d_key())
    add_product({.left = d_score_,
                 .right = meeting.memory.query_b,
                 .sums = d_key_ + offset(step) * layout_.head_cols * layout_.real_bytes,
                 .columns = problem.head_dim},
                meeting, step);
}

void KeyStrip::add_product(const KeyProduct& product, const Meeting& meeting,
                           const StripStep& step) {
  const std::int64_t rows = meeting.place.rows.size();
  const std::int64_t padded = padded_columns(kernel_, product.columns);
  if (kernel_.transposed_tile != nullptr)
    return kernel_.transposed_tile({.left = product.left,
                                    .left_stride = layout_.score_stride,
                                    .right = product.right,
                                    .output = product.sums,
                                    .output_stride = padded,
                                    .rows = step.cols,
                                    .depth = rows,
                                    .columns = product.columns});
  auto* const turned = reinterpret_cast<std::uint16_t*>(turned_);
  turn_tile({.elements = reinterpret_cast<const std::uint16_t*>(product.left),
             .stride = layout_.score_stride,
             .rows = rows,
             .cols = prob_cols(step)},
            layout_.turned_stride, turned, layout_.turned_stride);
  kernel_.output_tile({.probability = turned,
                       .probability_stride = layout_.turned_stride,
                       .value = product.right,
                       .value_rows = rows,
                       .kv_begin = 0,
                       .output = product.sums,
                       .output_stride = padded,
                       .row_factor = nullptr,
                       .rows = step.cols,
                       .kv = rows,
                       .columns = product.columns});
}

void KeyStrip::store_keys() {
  const BackwardOutputs& outputs = *call_.outputs;
  const double scale = call_.problem->scale_or_default();
  const HeadRows rows{kv_b_, kv_h_, keys_};
  const auto store = [&](const TensorView& gradient, char* sums, std::int64_t cols, double factor) {
    if (layout_.real_bytes == 8)
      return store_rows<double>(gradient, rows,
                                {reinterpret_cast<const double*>(sums), cols, factor});
    store_rows<float>(gradient, rows,
                      {reinterpret_cast<const float*>(sums), cols, static_cast<float>(factor)});
  };
  if (layout_.d_key != 0) store(*outputs.d_key, d_key_, layout_.head_cols, scale);
  if (layout_.d_value != 0) store(*outputs.d_value, d_value_, layout_.value_cols, 1);
  if (!outputs.d_key || layout_.d_key != 0) return;
  // dS is 0 by structure: the score buffer serves as a row of zeros.
  std::memset(score_, 0, layout_.score);
  std::memset(d_prob_, 0, layout_.score);
  store(*outputs.d_key, score_, 0, 0);
}

}  // namespace tilewright::cpu
