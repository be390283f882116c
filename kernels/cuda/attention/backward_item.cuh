// The unit of the backward schedule: a range of keys of one key head against the query heads that
// share it.
#pragma once

#include "attention/work_item.cuh"

namespace tilewright::cuda {

/// Streams are the (batch, query head) pairs that see these keys, heads innermost: those of the
/// group, in every batch where all batches share the keys. 32 bytes.
struct alignas(16) BackwardItem {
  i32 kv_batch;
  i32 kv_head;
  i32 kv_begin;
  i32 kv_end;
  i32 stream_begin;
  i32 stream_end;
  i32 part;      ///< which of the partial results of these keys receives it; 0 if there is one
  i32 live_end;  ///< the end of the keys that some stream has; of variants that read lengths
};

/// How an index becomes an item when no explicit list is given. Key heads come in sections; inside
/// a section the key tile is the outer index and ascends or descends, so that of the items that add
/// to a query tile the one whose keys come first is always taken first.
struct BackwardSchedule {
  const BackwardItem* list;  ///< explicit items, or null; in the order said above
  u32* counters;  ///< two zeros, zero again when the kernel ends: items taken, blocks done
  i32 items;
  i32 kv_tiles;
  i32 section_heads;  ///< key heads of all batches in a section
  i32 parts;          ///< items that share the streams of a key tile
};

__device__ __forceinline__ i32 streams_of_keys(const Extents& extents) {
  return extents.kv_batches == 1 ? extents.group_heads * extents.batches : extents.group_heads;
}

template <int kKeyTile, bool kDescends = false>
__device__ __forceinline__ BackwardItem decode_backward_item(const BackwardSchedule& schedule,
                                                             const Extents& extents, i32 index) {
  if (schedule.list != nullptr) return schedule.list[index];
  const i32 kv_heads = extents.query_heads / extents.group_heads;
  const i32 all_heads = extents.kv_batches * kv_heads;
  const i32 head_items = schedule.kv_tiles * schedule.parts;
  const i32 first_head = index / (schedule.section_heads * head_items) * schedule.section_heads;
  const i32 lanes = min(schedule.section_heads, all_heads - first_head) * schedule.parts;
  const i32 inside = index - first_head * head_items;
  const i32 order = inside / lanes;
  const i32 tile = kDescends ? schedule.kv_tiles - 1 - order : order;
  const i32 within = inside - order * lanes;
  const i32 head = first_head + within / schedule.parts;
  const i32 part = within % schedule.parts;
  const i32 streams = streams_of_keys(extents);
  return {.kv_batch = head / kv_heads,
          .kv_head = head % kv_heads,
          .kv_begin = tile * kKeyTile,
          .kv_end = min((tile + 1) * kKeyTile, extents.kv_rows),
          .stream_begin = streams * part / schedule.parts,
          .stream_end = streams * (part + 1) / schedule.parts,
          .part = part,
          .live_end = min((tile + 1) * kKeyTile, extents.kv_rows)};
}

}  // namespace tilewright::cuda
