// Which keys each block of query rows visits, as lists of spans: what a MaskMap or FlexAttention's
// block lists amount to in device memory.
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda {

/// Keys [kv_begin, kv_end) that a block of query rows visits, counted from the first key.
struct KeySpan {
  i32 kv_begin;
  i32 kv_end;
  i32 full;  ///< nonzero: every pair is live and mask_mod is skipped
  i32 reserved;
};

/// Where the spans of a list begin and end.
struct SpanRange {
  i64 first;
  i64 last;
};

/// Lists of spans, sorted and disjoint, as a MaskMap holds them; read by variants that walk lists.
/// They are authoritative (semantics R3), also without a mask_mod. List n is spans[ranges[n].first]
/// up to spans[ranges[n].last], with n = (b * heads + h) * q_blocks + i / q_block_rows, and b or h
/// taken as 0 where batches or heads is 1.
struct SpanLists {
  const KeySpan* spans;
  const SpanRange* ranges;  ///< batches * heads * q_blocks of them
  i32 q_blocks;
  i32 q_block_rows;
  i32 batches;
  i32 heads;
};

/// The list of the block that has a query row.
__device__ __forceinline__ i64 list_of(const SpanLists& lists, i32 batch, i32 head, i32 row) {
  const i64 b = lists.batches == 1 ? 0 : batch;
  const i64 h = lists.heads == 1 ? 0 : head;
  return (b * lists.heads + h) * lists.q_blocks + row / lists.q_block_rows;
}

/// The first span of a list that ends behind a key, or the end of the list.
__device__ __forceinline__ i64 first_span_behind(const SpanLists& lists, const SpanRange& range,
                                                 i32 key) {
  i64 low = range.first, high = range.last;
  while (low < high) {
    const i64 middle = low + (high - low) / 2;
    if (lists.spans[middle].kv_end > key) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Keys from the first one of a tile to the last one that there is.
struct KeysOnward {
  i32 tile_begin;
  i32 end;
};

/// 1 + the nearest key tile behind the one at keys.tile_begin that a list reaches into; 0 if none.
template <int kKeyTile>
__device__ __forceinline__ u32 descending_turn_by_list(const SpanLists& lists,
                                                       const SpanRange& range,
                                                       const KeysOnward& keys) {
  const i32 behind = keys.tile_begin + kKeyTile;
  const i64 at = first_span_behind(lists, range, behind);
  if (at == range.last) return 0;
  const i32 next = max(lists.spans[at].kv_begin, behind);
  return next < keys.end ? static_cast<u32>(next / kKeyTile + 1) : 0;
}

/// 1 + the nearest key tile before the one at kv_begin that a list reaches into; 0 if none.
/// @param at  first_span_behind(lists, range, kv_begin)
template <int kKeyTile>
__device__ __forceinline__ u32 turn_by_list(const SpanLists& lists, const SpanRange& range, i64 at,
                                            i32 kv_begin) {
  if (at != range.last && lists.spans[at].kv_begin < kv_begin) {
    return static_cast<u32>(kv_begin / kKeyTile);
  }
  if (at == range.first) return 0;
  return static_cast<u32>((lists.spans[at - 1].kv_end - 1) / kKeyTile + 1);
}

}  // namespace tilewright::cuda
