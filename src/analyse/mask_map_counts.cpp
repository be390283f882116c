#include <algorithm>
#include <utility>

#include "analyse/mask_map_state.h"
#include "analyse/pair_counter.h"
#include "analyse/tile_walk.h"
#include "analyse/token_ranges.h"

namespace tilewright {

namespace {

std::int64_t area(TokenRange q, const Span& span) {
  return q.size() * (span.kv_end - span.kv_begin);
}

}  // namespace

std::int64_t MaskMap::covered_pairs() const noexcept {
  std::int64_t pairs = 0;
  for (std::int64_t b = 0; b < state_->batches; ++b)
    for (std::int64_t h = 0; h < state_->heads; ++h)
      for (std::int64_t block = 0; block < state_->q_blocks; ++block)
        for (const Span* span = begin(b, h, block); span != end(b, h, block); ++span)
          pairs += area(state_->rows(block), *span);
  return pairs * state_->copies();
}

double MaskMap::sparsity_percent() const noexcept {
  const MaskMapOptions& own = state_->options;
  const double all = static_cast<double>(own.batch) * static_cast<double>(own.heads) *
                     static_cast<double>(own.q_len) * static_cast<double>(own.kv_len);
  return all == 0 ? 0 : 100 * (1 - static_cast<double>(covered_pairs()) / all);
}

std::int64_t MaskMap::live_pairs() const {
  std::call_once(state_->live_pairs_once,
                 [this] { state_->live_pairs = count_live_pairs() * state_->copies(); });
  return state_->live_pairs;
}

/// Over the lists that are kept.
std::int64_t MaskMap::count_live_pairs() const {
  if (!state_->classifier || state_->classifier->tape() == nullptr)
    return covered_pairs() / state_->copies();
  const MaskMapOptions& own = state_->options;
  const analyse::TileRange domain =
      state_->logical(own.batch - 1, own.heads - 1, {0, own.q_len}, {0, own.kv_len});
  const Program& program = *state_->program;
  analyse::PairCounter counter(program.structure(), program.bindings(), *state_->classifier,
                               domain);
  std::int64_t live = 0;
  const auto add_block = [&](std::int64_t b, std::int64_t h, std::int64_t block) {
    const TokenRange rows = state_->rows(block);
    for (const Span& span : state_->spans_of(state_->list(b, h, block)))
      live += span.full ? area(rows, span)
                        : counter.count(state_->logical(b, h, rows, {span.kv_begin, span.kv_end}));
  };
  for (std::int64_t b = 0; b < state_->batches; ++b)
    for (std::int64_t h = 0; h < state_->heads; ++h)
      for (std::int64_t block = 0; block < state_->q_blocks; ++block) add_block(b, h, block);
  return live;
}

TileClass MaskMap::tile_class(std::int64_t b, std::int64_t h, TokenRange q, TokenRange kv) const {
  q = {std::max<std::int64_t>(q.begin, 0), std::min(q.end, state_->options.q_len)};
  kv = {std::max<std::int64_t>(kv.begin, 0), std::min(kv.end, state_->options.kv_len)};
  return analyse::TileWalk(*state_).classify(b, h, q, kv);
}

TileCounts MaskMap::count_tiles(std::int64_t q_block, std::int64_t kv_block) const {
  analyse::require_tile(q_block, kv_block);
  const MaskMapOptions& own = state_->options;
  const std::int64_t kv_tiles = (own.kv_len + kv_block - 1) / kv_block;
  TileCounts counts;
  analyse::TileWalk walk(*state_);
  walk.for_each_row(q_block, kv_block, [&](const analyse::TileRow& row) {
    std::int64_t listed = 0;
    for (const analyse::TileRun& run : row.runs) {
      listed += run.end - run.begin;
      (run.full ? counts.full : counts.partial) += run.end - run.begin;
    }
    counts.empty += kv_tiles - listed;
  });
  counts.empty *= state_->copies();
  counts.partial *= state_->copies();
  counts.full *= state_->copies();
  return counts;
}

std::vector<Span> MaskMap::query_spans(std::int64_t b, std::int64_t h, TokenRange kv) const {
  std::vector<Span> spans;
  const std::int64_t group_blocks = State::kGroupBlocks;
  const std::int64_t groups = (state_->q_blocks + group_blocks - 1) / group_blocks;
  const std::int64_t first_group =
      ((state_->batches == 1 ? 0 : b) * state_->heads + (state_->heads == 1 ? 0 : h)) * groups;
  for (std::int64_t group = 0; group < groups; ++group) {
    const TokenRange keys = state_->group_keys[static_cast<std::size_t>(first_group + group)];
    if (keys.begin >= kv.end || keys.end <= kv.begin) continue;
    const std::int64_t last = std::min((group + 1) * group_blocks, state_->q_blocks);
    for (std::int64_t block = group * group_blocks; block < last; ++block) {
      const TileClass found =
          analyse::class_in_spans(state_->spans_of(state_->list(b, h, block)), kv);
      if (found == TileClass::kEmpty) continue;
      const TokenRange rows = state_->rows(block);
      const bool full = found == TileClass::kFull;
      if (!spans.empty() && spans.back().kv_end == rows.begin && spans.back().full == full)
        spans.back().kv_end = rows.end;
      else
        spans.push_back({.kv_begin = rows.begin, .kv_end = rows.end, .full = full});
    }
  }
  return spans;
}

}  // namespace tilewright
