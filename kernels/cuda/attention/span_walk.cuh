// Which key tiles an item visits where span lists decide: the tiles of each span, from its first
// key on, whatever the other spans are; the last span and its last tile first, as in tile_walk.cuh.
// An item lies in one block of query rows, which has one list.
#pragma once

#include "attention/forward_layout.cuh"
#include "attention/forward_params.cuh"
#include "ptx/lane.cuh"

namespace tilewright::cuda {

/// Moves an item's rows from where tiles of kQueryTile rows follow each other to where tiles of a
/// block do.
template <int kQueryTile>
__device__ __forceinline__ void cut_to_block(WorkItem& item, const ItemLists& lists) {
  const i32 tile = item.q_begin / kQueryTile;
  const i32 block = tile / lists.block_tiles;
  const i32 block_begin = block * lists.spans.q_block_rows;
  const i32 block_end = min(block_begin + lists.spans.q_block_rows, lists.query_rows);
  item.q_begin = min(block_begin + (tile - block * lists.block_tiles) * lists.item_rows, block_end);
  item.q_end = min(item.q_begin + lists.item_rows, block_end);
}

/// A tile of a span.
struct ListedTile {
  i32 kv_begin;
  u32 note_flags;
  bool valid;  ///< false: the walk is over

  __device__ __forceinline__ u32 flags() const { return note_flags; }
};

template <int kKeyTile, bool kHasMaskMod>
struct SpanWalk {
  const WorkItem& item;  ///< in shared memory
  const KeySpan* spans;  ///< of the item's list
  i32 left;              ///< of the spans, as many as no lane holds yet
  u32 held = 0;          ///< lanes whose span was not taken yet: lanes 0 to held - 1
  KeySpan own = {0, 0, 0, 0};
  i32 kv_begin = 0;  ///< what is left of the span at hand
  i32 kv_end = 0;
  bool full = false;

  __device__ __forceinline__ SpanWalk(const SpanLists& lists, const WorkItem& at) : item(at) {
    const i64 b = lists.batches == 1 ? 0 : item.batch;
    const i64 h = lists.heads == 1 ? 0 : item.head;
    const i64 list = (b * lists.heads + h) * lists.q_blocks + item.q_begin / lists.q_block_rows;
    const SpanRange range = lists.ranges[list];
    spans = lists.spans + range.first;
    left = static_cast<i32>(range.last - range.first);
  }

  /// What an item without a live tile has.
  static __device__ __forceinline__ ListedTile dead_tile(i32 kv_begin) {
    return {kv_begin, TileNote::kPartial, false};
  }

  /// Called by the whole warp.
  __device__ __forceinline__ ListedTile next(u32 lane) {
    while (kv_begin >= kv_end) {
      if (held == 0 && left == 0) return {0, 0, false};
      take_span(lane);
    }
    const i32 tiles_before = (kv_end - kv_begin - 1) / kKeyTile;
    const i32 first = kv_begin + tiles_before * kKeyTile;
    const u32 keys = static_cast<u32>(kv_end - first);
    kv_end = first;
    const bool by_mask = kHasMaskMod && !full;
    const u32 kind =
        (by_mask ? TileNote::kByMask : 0) | (by_mask || keys < kKeyTile ? TileNote::kPartial : 0);
    return {first, kind | keys << TileNote::kKeysShift, true};
  }

 private:
  __device__ __forceinline__ void take_span(u32 lane) {
    if (held == 0) {
      held = static_cast<u32>(min(left, 32));
      left -= static_cast<i32>(held);
      if (lane < held) own = spans[left + static_cast<i32>(lane)];
    }
    --held;
    kv_begin = static_cast<i32>(ptx::broadcast(static_cast<u32>(own.kv_begin), held));
    kv_end = min(static_cast<i32>(ptx::broadcast(static_cast<u32>(own.kv_end), held)), item.kv_end);
    full = ptx::broadcast(static_cast<u32>(own.full), held) != 0;
  }
};

}  // namespace tilewright::cuda
