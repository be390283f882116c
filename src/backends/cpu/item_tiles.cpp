#include "backends/cpu/item_tiles.h"

#include <algorithm>

namespace tilewright::cpu {

ItemTiles::ItemTiles(const ForwardCall& call)
    : call_(call),
      is_marked_(static_cast<std::size_t>((call.problem->kv_len + call.kv_tile_tokens - 1) /
                                          call.kv_tile_tokens)) {}

const std::vector<std::int64_t>& ItemTiles::of(const WorkItem& item) {
  tiles_.clear();
  if (call_.map == nullptr)
    mark(item.keys);
  else
    mark_spans(item);
  for (const std::int64_t tile : tiles_) is_marked_[static_cast<std::size_t>(tile)] = 0;
  std::sort(tiles_.begin(), tiles_.end());
  return tiles_;
}

/// Heads of one item have one map.
void ItemTiles::mark_spans(const WorkItem& item) {
  const std::int64_t block = call_.map->options().q_block;
  const std::int64_t last = (item.q_begin + item.q_rows - 1) / block;
  for (std::int64_t band = item.q_begin / block; band <= last; ++band) {
    const Span* const end = call_.map->end(item.b, item.h, band);
    for (const Span* span = call_.map->begin(item.b, item.h, band); span != end; ++span)
      mark({std::max(span->kv_begin, item.keys.begin), std::min(span->kv_end, item.keys.end)});
  }
}

void ItemTiles::mark(TokenRange keys) {
  if (keys.begin >= keys.end) return;
  const std::int64_t last = (keys.end - 1) / call_.kv_tile_tokens;
  for (std::int64_t tile = keys.begin / call_.kv_tile_tokens; tile <= last; ++tile) {
    char& is_marked = is_marked_[static_cast<std::size_t>(tile)];
    if (is_marked == 0) tiles_.push_back(tile);
    is_marked = 1;
  }
}

}  // namespace tilewright::cpu
