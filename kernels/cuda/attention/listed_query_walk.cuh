// The walk of query_walk.cuh where span lists decide: of a stream, the query tiles whose list has a
// span that reaches into an item's keys, in the same order. A lane looks at a tile, 32 at a time.
#pragma once

#include "attention/backward_extension.cuh"
#include "attention/query_walk.cuh"

namespace tilewright::cuda {

template <class Layout, bool kOrdered>
struct ListedQueryWalk {
  const BackwardExtension& extension;
  i32 tiles;
  i32 batch = 0, head = 0;
  i32 kv_begin = 0, kv_end = 0, kv_rows = 0;
  i32 first = 0;  ///< tile of lane 0
  u32 live_tiles = 0;
  u32 lane_turn = 0;  ///< of this lane's tile

  __device__ __forceinline__ ListedQueryWalk(const BackwardExtension& given, i32 count)
      : extension(given), tiles(count) {}

  /// @param keys  that the stream has, more than lie before the item's
  __device__ __forceinline__ void start(const BackwardItem& item, i32 of_batch, i32 of_head,
                                        i32 keys) {
    batch = of_batch;
    head = of_head;
    kv_begin = item.kv_begin;
    kv_end = min(item.kv_end, keys);
    kv_rows = keys;
    first = -32;
    live_tiles = 0;
  }

  /// Called by the whole warp. Tiles are counted as if all were whole; the keys that a tile sees
  /// say whether it is partial.
  __device__ __forceinline__ QueryTileRef next(u32 lane) {
    while (live_tiles == 0) {
      first += 32;
      if (first >= tiles) return {0, 0, false, false};
      look_at_tiles(lane);
    }
    const u32 index = ptx::lowest_bit(live_tiles);
    live_tiles ^= 1u << index;
    const u32 turn = kOrdered ? ptx::broadcast(lane_turn, index) : 0;
    return {(first + static_cast<i32>(index)) * Layout::kQueryTile, turn, false, true};
  }

 private:
  __device__ __forceinline__ void look_at_tiles(u32 lane) {
    const i32 tile = first + static_cast<i32>(lane);
    bool live = false;
    if (tile < tiles) {
      const SpanLists& lists = extension.lists;
      const SpanRange range = lists.ranges[list_of(lists, batch, head, extension.cut.begin(tile))];
      const i64 at = first_span_behind(lists, range, kv_begin);
      live = at != range.last && lists.spans[at].kv_begin < kv_end;
      if (kOrdered && live) {
        lane_turn = descending_turn_by_list<Layout::kKeyTile>(lists, range, {kv_begin, kv_rows});
      }
    }
    live_tiles = ptx::ballot(live);
  }
};

}  // namespace tilewright::cuda
