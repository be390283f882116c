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

}  // namespace tilewright::cuda
