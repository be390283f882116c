// How far the keys of a backward item reach where each batch of queries has a length of its own.
#pragma once

#include "attention/backward_item.cuh"
#include "attention/key_lengths.cuh"

namespace tilewright::cuda {

/// The end of the item's keys that some of its streams have.
__device__ __forceinline__ i32 last_live_end(const KeyLengths& lengths, const Extents& extents,
                                             const BackwardItem& item) {
  if (lengths.of_batch == nullptr) return item.kv_end;
  const bool shared = extents.kv_batches == 1;
  const i32 group = extents.group_heads;
  const i32 begin = shared ? item.stream_begin / group : item.kv_batch;
  const i32 end = shared ? (item.stream_end + group - 1) / group : begin + 1;
  i32 last = item.kv_begin;
  for (i32 batch = begin; batch < end; ++batch) {
    last = max(last, lengths.keys(batch, item.kv_end));
  }
  return last;
}

}  // namespace tilewright::cuda
