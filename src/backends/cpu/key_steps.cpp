#include "backends/cpu/key_steps.h"

#include <algorithm>

namespace tilewright::cpu {

namespace {

/// The steps of one query block, behind those of the blocks before.
class StepList {
 public:
  StepList(const ForwardCall& call, std::int64_t alignment, std::vector<KeyStep>& steps)
      : call_(call), alignment_(alignment), steps_(steps), first_(steps.size()) {}

  void add_range(TokenRange range, bool masked) {
    while (range.begin < range.end) {
      const std::int64_t tile_end = (range.begin / call_.kv_tile_tokens + 1) * call_.kv_tile_tokens;
      const TokenRange stretch{range.begin, std::min(range.end, tile_end)};
      add_stretch(stretch, masked);
      range.begin = stretch.end;
    }
  }

 private:
  /// Joins the stretch to the step before where both lie in one tile and may be treated alike: one
  /// product over the whole tile beats two over its parts.
  void add_stretch(TokenRange stretch, bool masked) {
    const std::int64_t tile = stretch.begin / call_.kv_tile_tokens;
    if (steps_.size() > first_ && !call_.lists_rule) {
      KeyStep& last = steps_.back();
      const bool adjacent = last.kv_begin + last.col_end == stretch.begin;
      if (last.kv_begin / call_.kv_tile_tokens == tile) {
        last.masked = last.masked || masked || !adjacent;
        last.col_end = stretch.end - last.kv_begin;
        last.cols = last.col_end;
        return;
      }
    }
    const std::int64_t tile_begin = tile * call_.kv_tile_tokens;
    const std::int64_t begin = tile_begin + (stretch.begin - tile_begin) / alignment_ * alignment_;
    steps_.push_back({.kv_begin = begin,
                      .cols = stretch.end - begin,
                      .col_begin = stretch.begin - begin,
                      .col_end = stretch.end - begin,
                      .masked = masked});
  }

  const ForwardCall& call_;
  std::int64_t alignment_;
  std::vector<KeyStep>& steps_;
  std::size_t first_;
};

}  // namespace

void append_key_steps(const ForwardCall& call, const WorkItem& item, std::int64_t q_block,
                      std::int64_t alignment, std::vector<KeyStep>& steps) {
  StepList list(call, alignment, steps);
  if (call.map == nullptr) return list.add_range(item.keys, call.has_mask);
  const Span* const end = call.map->end(item.b, item.h, q_block);
  for (const Span* span = call.map->begin(item.b, item.h, q_block); span != end; ++span)
    list.add_range(
        {std::max(span->kv_begin, item.keys.begin), std::min(span->kv_end, item.keys.end)},
        !span->full && call.has_mask);
}

}  // namespace tilewright::cpu
