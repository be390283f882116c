// A list of key spans as a key tile sees it: the spans that reach into it, and what the list has
// before it.
#pragma once

#include "attention/portable_params.cuh"

namespace tilewright::cuda {

/// Keys of a tile that one visit is about: spans that touch and are of one kind.
struct ListVisit {
  i32 kv_begin;
  i32 kv_end;
  bool full;
  bool exists;
  bool last;  ///< of the list's visits to the tile
};

__device__ __forceinline__ i64 list_of(const SpanLists& lists, i32 batch, i32 head, i32 row) {
  const i64 b = lists.batches == 1 ? 0 : batch;
  const i64 h = lists.heads == 1 ? 0 : head;
  return (b * lists.heads + h) * lists.q_blocks + row / lists.q_block_rows;
}

struct ListVisits {
  const SpanLists& lists;
  i64 list;
  i32 kv_begin;  ///< of the tile
  i32 kv_end;

  /// The first span that ends behind the tile's first key, or the end of the list.
  __device__ __forceinline__ i64 first_span() const {
    i64 low = lists.ranges[list].first, high = lists.ranges[list].last;
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      if (lists.spans[middle].kv_end > kv_begin) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /// The visit number `round`.
  __device__ __forceinline__ ListVisit find(i32 round) const {
    const i64 end = lists.ranges[list].last;
    ListVisit visit = {0, 0, false, false, true};
    i64 at = first_span();
    for (i32 n = 0; n <= round; ++n) {
      if (at == end || lists.spans[at].kv_begin >= kv_end) return {0, 0, false, false, true};
      const KeySpan span = lists.spans[at++];
      visit = {max(span.kv_begin, kv_begin), span.kv_end, span.full != 0, true, false};
      while (at != end && lists.spans[at].kv_begin == visit.kv_end && visit.kv_end < kv_end &&
             (lists.spans[at].full != 0) == visit.full) {
        visit.kv_end = lists.spans[at++].kv_end;
      }
    }
    visit.last = visit.kv_end >= kv_end || at == end || lists.spans[at].kv_begin >= kv_end;
    visit.kv_end = min(visit.kv_end, kv_end);
    return visit;
  }

  /// 1 + the nearest key tile before this one that the list reaches into; 0 if none.
  template <int kKeyTile>
  __device__ __forceinline__ u32 turn() const {
    const i64 at = first_span();
    if (at != lists.ranges[list].last && lists.spans[at].kv_begin < kv_begin) {
      return static_cast<u32>(kv_begin / kKeyTile);
    }
    if (at == lists.ranges[list].first) return 0;
    return static_cast<u32>((lists.spans[at - 1].kv_end - 1) / kKeyTile + 1);
  }
};

}  // namespace tilewright::cuda
