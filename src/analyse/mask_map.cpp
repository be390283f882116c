#include "tilewright/mask_map.h"

#include <algorithm>
#include <utility>

#include "analyse/facts.h"
#include "analyse/mask_map_state.h"
#include "analyse/span_search.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

[[noreturn]] void raise_option(const char* where, const char* expected, std::int64_t got) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "a mask map cannot be built for these sizes",
               .where = where,
               .expected = expected,
               .got = std::to_string(got),
               .hint = {}});
}

void require_sizes(const MaskMapOptions& options) {
  if (options.batch < 1) raise_option("batch", "at least 1", options.batch);
  if (options.heads < 1) raise_option("heads", "at least 1", options.heads);
  if (options.q_len < 0) raise_option("q_len", "at least 0", options.q_len);
  if (options.kv_len < 0) raise_option("kv_len", "at least 0", options.kv_len);
  if (options.q_block < 1) raise_option("q_block", "at least 1 token", options.q_block);
}

void require_no_broadcast(bool broadcasts, bool depends, const char* axis) {
  if (!broadcasts || !depends) return;
  throw Error(
      {.code = ErrorCode::kInvalidArgument,
       .what = std::string("mask_mod depends on ") + axis + ", so no map can stand for all of them",
       .where = std::string("broadcast over ") + axis,
       .expected = std::string("a map with one list for each ") + axis,
       .got = "a broadcast map",
       .hint = "give the number of batches and heads"});
}

}  // namespace

MaskMap::MaskMap(std::shared_ptr<const State> state) : state_(std::move(state)) {}

namespace {

/// Fills the span lists of every head that is kept.
template <class State>
class ListBuilder {
 public:
  explicit ListBuilder(State& state) : state_(state) {}

  void run() {
    state_.first.reserve(
        static_cast<std::size_t>(state_.batches * state_.heads * state_.q_blocks + 1));
    state_.first.push_back(0);
    const analyse::MaskTape* const tape = state_.classifier->tape();
    if (tape == nullptr || state_.options.kv_len == 0) return fill_alike();
    const MaskMapOptions& options = state_.options;
    analyse::TapeEvaluator evaluator(*tape);
    analyse::SpanSearch search(evaluator, {options.kv_base, options.kv_base + options.kv_len - 1},
                               options.q_block);
    for (std::int64_t b = 0; b < state_.batches; ++b)
      for (std::int64_t h = 0; h < state_.heads; ++h) {
        evaluator.set_head(b, h);
        search.restart();
        for (std::int64_t block = 0; block < state_.q_blocks; ++block) add(search, block);
      }
  }

 private:
  /// Without a mask_mod every key is live; without keys nothing is.
  void fill_alike() {
    const std::int64_t lists = state_.batches * state_.heads * state_.q_blocks;
    const Span all{.kv_begin = 0, .kv_end = state_.options.kv_len, .full = true};
    for (std::int64_t i = 0; i < lists; ++i) {
      if (all.kv_end > 0) state_.spans.push_back(all);
      state_.first.push_back(static_cast<std::int64_t>(state_.spans.size()));
    }
  }

  void add(analyse::SpanSearch& search, std::int64_t block) {
    const TokenRange rows = state_.rows(block);
    const std::int64_t q_base = state_.options.q_base;
    const std::int64_t kv_base = state_.options.kv_base;
    for (Span span : search.next({rows.begin + q_base, rows.end - 1 + q_base})) {
      span.kv_begin -= kv_base;
      span.kv_end -= kv_base;
      state_.spans.push_back(span);
    }
    state_.first.push_back(static_cast<std::int64_t>(state_.spans.size()));
    state_.evaluations += search.evaluations();
    state_.blocks_over_budget += search.is_over_budget() ? 1 : 0;
  }

  State& state_;
};

}  // namespace

MaskMap MaskMap::build(const Program& program, const MaskMapOptions& options) {
  require_sizes(options);
  const analyse::StructureFacts facts = analyse::structure_facts(program.structure());
  require_no_broadcast(options.broadcast_batch, facts.mask_depends_on_b, "b");
  require_no_broadcast(options.broadcast_heads, facts.mask_depends_on_h, "h");
  auto state = std::make_shared<State>();
  state->options = options;
  state->holds_for_any_batch = !facts.mask_depends_on_b;
  state->holds_for_any_head = !facts.mask_depends_on_h;
  state->batches = facts.mask_depends_on_b ? options.batch : 1;
  state->heads = facts.mask_depends_on_h ? options.heads : 1;
  state->q_blocks = (options.q_len + options.q_block - 1) / options.q_block;
  state->program.emplace(program);
  state->classifier.emplace(state->program->structure(), state->program->bindings());
  ListBuilder(*state).run();
  state->spans.shrink_to_fit();
  state->find_group_keys();
  return MaskMap(std::move(state));
}

void MaskMap::State::find_group_keys() {
  const auto lists = static_cast<std::int64_t>(first.size()) - 1;
  for (std::int64_t list = 0; list < lists; ++list) {
    const std::int64_t in_head = list % q_blocks;
    if (in_head % kGroupBlocks == 0) group_keys.push_back({options.kv_len, 0});
    const auto begin = static_cast<std::size_t>(first[static_cast<std::size_t>(list)]);
    const auto end = static_cast<std::size_t>(first[static_cast<std::size_t>(list) + 1]);
    if (begin == end) continue;
    TokenRange& keys = group_keys.back();
    keys.begin = std::min(keys.begin, spans[begin].kv_begin);
    keys.end = std::max(keys.end, spans[end - 1].kv_end);
  }
}

const MaskMapOptions& MaskMap::options() const noexcept { return state_->options; }
std::int64_t MaskMap::q_blocks() const noexcept { return state_->q_blocks; }

const Span* MaskMap::begin(std::int64_t b, std::int64_t h, std::int64_t q_block) const noexcept {
  return state_->spans.data() +
         state_->first[static_cast<std::size_t>(state_->list(b, h, q_block))];
}

const Span* MaskMap::end(std::int64_t b, std::int64_t h, std::int64_t q_block) const noexcept {
  return state_->spans.data() +
         state_->first[static_cast<std::size_t>(state_->list(b, h, q_block)) + 1];
}

std::int64_t MaskMap::span_count() const noexcept {
  return static_cast<std::int64_t>(state_->spans.size());
}

std::size_t MaskMap::bytes() const noexcept {
  return sizeof(State) + state_->spans.size() * sizeof(Span) +
         state_->first.size() * sizeof(std::int64_t) +
         state_->group_keys.size() * sizeof(TokenRange) +
         (state_->classifier ? state_->classifier->bytes() : 0);
}

std::int64_t MaskMap::blocks_over_budget() const noexcept { return state_->blocks_over_budget; }
std::int64_t MaskMap::evaluations() const noexcept { return state_->evaluations; }

void MaskMap::require_describes(const Program& program) const {
  const auto raise = [](const std::string& got) {
    throw Error({.code = ErrorCode::kInvalidArgument,
                 .what = "the mask map was built from another program",
                 .where = "mask map",
                 .expected = "MaskMap::build of this program with these numbers and tensors",
                 .got = got,
                 .hint = "build it again after bind() and set()"});
  };
  if (!state_->program || state_->from_lists) raise("a map of block lists");
  if (program.structure_digest() != state_->program->structure_digest()) raise("another structure");
  if (program.content_digest() != state_->program->content_digest()) raise("other numbers");
  const std::vector<TensorView>& own = state_->program->bindings().captures;
  const std::vector<TensorView>& called = program.bindings().captures;
  for (std::size_t i = 0; i < own.size(); ++i) {
    // A table on a device has its copy on the CPU, of which no address tells.
    const bool same_memory = own[i].device.kind != called[i].device.kind ||
                             (own[i].data == called[i].data && own[i].strides == called[i].strides);
    if (!same_memory || !(own[i].shape == called[i].shape))
      raise("another tensor for '" + program.structure().captures()[i].name + "'");
  }
}

void MaskMap::require_serves(std::int64_t batch, std::int64_t heads, std::int64_t q_len,
                             std::int64_t kv_len) const {
  const MaskMapOptions& own = state_->options;
  const bool lengths = own.q_len == q_len && own.kv_len == kv_len;
  const bool batch_fits = own.batch == batch || (own.batch == 1 && state_->holds_for_any_batch);
  const bool heads_fit = own.heads == heads || (own.heads == 1 && state_->holds_for_any_head);
  if (lengths && batch_fits && heads_fit) return;
  const auto sizes = [](const Dims& dims) { return to_string(dims) + " (batch, heads, q, kv)"; };
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "the mask map was built for other sizes",
               .where = "mask map",
               .expected = sizes({own.batch, own.heads, own.q_len, own.kv_len}),
               .got = sizes({batch, heads, q_len, kv_len}),
               .hint = "build it for the call's own sizes; batch and heads may be 1 where the mask "
                       "does not depend on b and h"});
}

}  // namespace tilewright
