#include "backends/cpu/strip_steps.h"

#include <algorithm>

namespace tilewright::cpu {

namespace {

/// What the rows of one query block of the map see of the strip's keys.
struct Seen {
  TokenRange hull{0, 0};
  bool whole = true;  ///< every pair of rows and hull is live
};

StripStep step_of(TokenRange live, bool masked, TokenRange keys, std::int64_t alignment) {
  const std::int64_t begin = keys.begin + (live.begin - keys.begin) / alignment * alignment;
  return {.kv_begin = begin,
          .cols = live.end - begin,
          .col_begin = live.begin - begin,
          .col_end = live.end - begin,
          .masked = masked};
}

TokenRange clipped(const Span& span, TokenRange keys) {
  return {std::max(span.kv_begin, keys.begin), std::min(span.kv_end, keys.end)};
}

Seen seen_by(const BackwardCall& call, const BlockPlace& place, std::int64_t q_block,
             TokenRange keys) {
  Seen seen;
  const Span* const end = call.map->end(place.b, place.h, q_block);
  for (const Span* span = call.map->begin(place.b, place.h, q_block); span != end; ++span) {
    const TokenRange part = clipped(*span, keys);
    if (part.begin >= part.end) continue;
    const bool is_first = seen.hull.begin >= seen.hull.end;
    const bool adjacent = is_first || seen.hull.end == part.begin;
    seen.whole = seen.whole && adjacent && (span->full || !call.has_mask);
    seen.hull = {is_first ? part.begin : seen.hull.begin, part.end};
  }
  return seen;
}

/// Block lists: every span keeps its own kind (R3).
void list_spans(const BackwardCall& call, const BlockPlace& place, TokenRange keys,
                std::int64_t alignment, std::vector<StripStep>& steps) {
  const std::int64_t q_block = place.rows.begin / call.map->options().q_block;
  const Span* const end = call.map->end(place.b, place.h, q_block);
  for (const Span* span = call.map->begin(place.b, place.h, q_block); span != end; ++span) {
    const TokenRange part = clipped(*span, keys);
    if (part.begin < part.end)
      steps.push_back(step_of(part, !span->full && call.has_mask, keys, alignment));
  }
}

}  // namespace

void list_strip_steps(const BackwardCall& call, const BlockPlace& place, TokenRange keys,
                      std::int64_t alignment, std::vector<StripStep>& steps) {
  steps.clear();
  if (call.map == nullptr) {
    if (keys.size() > 0) steps.push_back(step_of(keys, call.has_mask, keys, alignment));
    return;
  }
  if (call.lists_rule) return list_spans(call, place, keys, alignment, steps);
  const std::int64_t q_block = call.map->options().q_block;
  const std::int64_t first = place.rows.begin / q_block;
  const std::int64_t last = (place.rows.end - 1) / q_block;
  Seen all = seen_by(call, place, first, keys);
  for (std::int64_t block = first + 1; block <= last; ++block) {
    const Seen seen = seen_by(call, place, block, keys);
    const bool same = seen.hull.begin == all.hull.begin && seen.hull.end == all.hull.end;
    all.whole = all.whole && seen.whole && same;
    if (same || seen.hull.begin >= seen.hull.end) continue;
    const bool is_first = all.hull.begin >= all.hull.end;
    all.hull = {is_first ? seen.hull.begin : std::min(all.hull.begin, seen.hull.begin),
                std::max(all.hull.end, seen.hull.end)};
  }
  if (all.hull.begin < all.hull.end)
    steps.push_back(step_of(all.hull, !all.whole, keys, alignment));
}

}  // namespace tilewright::cpu
