// The unit of the schedule: a range of query rows of one head against a range of keys.
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda {

/// Half-open ranges in rows; 32 bytes, so that an item is two 16-byte words in a list or in shared
/// memory.
struct alignas(16) WorkItem {
  static constexpr i32 kNone = -1;  ///< as head: there is no item any more
  i32 batch;
  i32 head;  ///< query head
  i32 q_begin;
  i32 q_end;
  i32 kv_begin;
  i32 kv_end;
  i32 output_slot;  ///< which of the outputs stacked along the batch dimension receives it (split
                    ///< keys); 0 otherwise
  i32 reserved;
};

/// How an index becomes a WorkItem when no explicit list is given. Heads come in sections whose
/// keys and values fit the L2 cache; inside a section the query tile is the outer index.
struct Schedule {
  const WorkItem* list;  ///< explicit items, or null
  u32* counters;         ///< two zeros, zero again when the kernel ends: items taken, blocks done
  i32 items;
  i32 q_tiles;
  i32 section_heads;    ///< query heads of all batches in a section
  i32 last_tile_first;  ///< nonzero: query tiles descend, which is longest first for a causal mask
};

/// The problem's extents that an item is cut from, in rows and heads.
struct Extents {
  i32 batches;
  i32 query_heads;
  i32 group_heads;  ///< query heads that share a key head
  i32 kv_batches;   ///< batches, or 1 where keys and values are shared by all batches
  i32 query_rows;
  i32 kv_rows;
};

template <int kQueryTile>
__device__ __forceinline__ WorkItem decode_item(const Schedule& schedule, const Extents& extents,
                                                i32 index) {
  if (schedule.list != nullptr) return schedule.list[index];
  const i32 all_heads = extents.batches * extents.query_heads;
  const i32 section = index / (schedule.section_heads * schedule.q_tiles);
  const i32 first_head = section * schedule.section_heads;
  const i32 heads = min(schedule.section_heads, all_heads - first_head);
  const i32 inside = index - first_head * schedule.q_tiles;
  const i32 order = inside / heads;
  const i32 head = first_head + inside - order * heads;
  const i32 tile = schedule.last_tile_first != 0 ? schedule.q_tiles - 1 - order : order;
  const i32 batch = head / extents.query_heads;
  return {.batch = batch,
          .head = head - batch * extents.query_heads,
          .q_begin = tile * kQueryTile,
          .q_end = min((tile + 1) * kQueryTile, extents.query_rows),
          .kv_begin = 0,
          .kv_end = extents.kv_rows,
          .output_slot = 0,
          .reserved = 0};
}

}  // namespace tilewright::cuda
