#include <utility>

#include "analyse/mask_map_state.h"
#include "tilewright/error.h"
#include "tilewright/mask_map.h"

/// Maps of parts of a problem, and of the same mask at other lengths.
namespace tilewright {

namespace {

[[noreturn]] void raise_rows(const char* what, const std::string& expected, TokenRange got) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = what,
               .where = "query_rows",
               .expected = expected,
               .got = "[" + std::to_string(got.begin) + ", " + std::to_string(got.end) + ")",
               .hint = {}});
}

/// Appends the lists of query blocks [first_block, last_block) of every head.
template <class State>
void copy_lists(const State& from, State& to, std::int64_t first_block) {
  to.first.push_back(0);
  for (std::int64_t head = 0; head < from.batches * from.heads; ++head)
    for (std::int64_t block = 0; block < to.q_blocks; ++block) {
      const auto spans = from.spans_of(head * from.q_blocks + first_block + block);
      to.spans.insert(to.spans.end(), spans.begin(), spans.end());
      to.first.push_back(static_cast<std::int64_t>(to.spans.size()));
    }
}

}  // namespace

MaskMap MaskMap::query_rows(TokenRange q) const {
  const State& own = *state_;
  const MaskMapOptions& options = own.options;
  if (q.begin < 0 || q.begin > q.end || q.end > options.q_len)
    raise_rows("these query tokens are not in the map",
               "a range inside [0, " + std::to_string(options.q_len) + ")", q);
  if (q.begin % options.q_block != 0)
    raise_rows("a slice of a map must begin where a query block does",
               "a multiple of " + std::to_string(options.q_block), q);
  const bool cuts_a_block = q.end % options.q_block != 0 && q.end != options.q_len;
  if (cuts_a_block && own.from_lists)
    raise_rows("a slice of block lists must end where a query block does",
               "a multiple of " + std::to_string(options.q_block), q);
  auto state = std::make_shared<State>();
  state->options = options;
  state->options.q_len = q.size();
  state->options.q_base += q.begin;
  // Spans of a shorter last block could be tighter.
  if (cuts_a_block && own.program) return build(*own.program, state->options);
  state->batches = own.batches;
  state->heads = own.heads;
  state->holds_for_any_batch = own.holds_for_any_batch;
  state->holds_for_any_head = own.holds_for_any_head;
  state->from_lists = own.from_lists;
  state->q_blocks = (q.size() + options.q_block - 1) / options.q_block;
  if (own.program) {
    state->program.emplace(*own.program);
    state->classifier.emplace(state->program->structure(), state->program->bindings());
  }
  copy_lists(own, *state, q.begin / options.q_block);
  state->find_group_keys();
  return MaskMap(std::move(state));
}

MaskMap MaskMap::with_lengths(std::int64_t q_len, std::int64_t kv_len) const {
  if (!state_->program || state_->from_lists)
    throw Error({.code = ErrorCode::kInvalidArgument,
                 .what = "block lists say nothing about other lengths",
                 .where = "with_lengths",
                 .expected = "a map that MaskMap::build made",
                 .got = "a map of block lists",
                 .hint = "make lists of the other lengths"});
  MaskMapOptions options = state_->options;
  options.q_len = q_len;
  options.kv_len = kv_len;
  return build(*state_->program, options);
}

}  // namespace tilewright
