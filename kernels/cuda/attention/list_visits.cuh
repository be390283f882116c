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

struct ListVisits {
  const SpanLists& lists;
  i64 list;
  i32 kv_begin;  ///< of the tile
  i32 kv_end;

  __device__ __forceinline__ i64 first_span() const {
    return first_span_behind(lists, lists.ranges[list], kv_begin);
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

  template <int kKeyTile>
  __device__ __forceinline__ u32 turn() const {
    return turn_by_list<kKeyTile>(lists, lists.ranges[list], first_span(), kv_begin);
  }
};

}  // namespace tilewright::cuda
