#include "backends/cpu/key_steps.h"

#include <algorithm>

namespace tilewright::cpu {

namespace {

/// Adds the stretch [begin, end) of one kv tile, joined to the step before where both lie in one
/// tile and may be treated alike: one product over the whole tile beats two over its parts.
void add_stretch(const ForwardCall& call, TokenRange stretch, bool masked, std::int64_t alignment,
                 std::vector<KeyStep>& steps) {
  const std::int64_t tile = stretch.begin / call.kv_tile_tokens;
  if (!steps.empty() && !call.lists_rule) {
    KeyStep& last = steps.back();
    const bool same_tile = last.kv_begin / call.kv_tile_tokens == tile;
    const bool adjacent = last.kv_begin + last.col_end == stretch.begin;
    if (same_tile) {
      last.masked = last.masked || masked || !adjacent;
      last.col_end = stretch.end - last.kv_begin;
      last.cols = last.col_end;
      return;
    }
  }
  const std::int64_t tile_begin = tile * call.kv_tile_tokens;
  const std::int64_t begin = tile_begin + (stretch.begin - tile_begin) / alignment * alignment;
  steps.push_back({.kv_begin = begin,
                   .cols = stretch.end - begin,
                   .col_begin = stretch.begin - begin,
                   .col_end = stretch.end - begin,
                   .masked = masked});
}

void add_range(const ForwardCall& call, TokenRange range, bool masked, std::int64_t alignment,
               std::vector<KeyStep>& steps) {
  while (range.begin < range.end) {
    const std::int64_t tile_end = (range.begin / call.kv_tile_tokens + 1) * call.kv_tile_tokens;
    const TokenRange stretch{range.begin, std::min(range.end, tile_end)};
    add_stretch(call, stretch, masked, alignment, steps);
    range.begin = stretch.end;
  }
}

}  // namespace

void list_key_steps(const ForwardCall& call, const WorkItem& item, std::int64_t alignment,
                    std::vector<KeyStep>& steps) {
  steps.clear();
  if (call.map == nullptr) return add_range(call, item.keys, call.has_mask, alignment, steps);
  const std::int64_t q_block = item.q_begin / call.map->options().q_block;
  const Span* const end = call.map->end(item.b, item.h, q_block);
  for (const Span* span = call.map->begin(item.b, item.h, q_block); span != end; ++span) {
    const TokenRange range{std::max(span->kv_begin, item.keys.begin),
                           std::min(span->kv_end, item.keys.end)};
    add_range(call, range, !span->full && call.has_mask, alignment, steps);
  }
}

}  // namespace tilewright::cpu
