// Which rows, head and keys a block of the portable family works on.
#pragma once

#include "attention/portable_params.cuh"

namespace tilewright::cuda {

/// A quotient whose divisor is often 1, where a division would be most of the wait for the first
/// key.
__device__ __forceinline__ i32 quotient(i32 value, i32 divisor) {
  return divisor == 1 ? value
                      : static_cast<i32>(static_cast<u32>(value) / static_cast<u32>(divisor));
}

/// A query row of the problem.
struct QueryRow {
  i32 head;
  i32 position;
};

template <bool kPacksGroup>
struct ItemRows {
  const Extents& extents;
  const WorkItem& item;  ///< in shared memory: it is needed too rarely to keep in registers

  /// Row `row` of the item's head, a packed one where groups are packed.
  __device__ __forceinline__ QueryRow at(i32 row) const {
    if constexpr (kPacksGroup) {
      const i32 position = quotient(row, extents.group_heads);
      const i32 in_group = row - position * extents.group_heads;
      return {item.head * extents.group_heads + in_group, position};
    } else {
      return {item.head, row};
    }
  }
  __device__ __forceinline__ i32 key_head() const {
    return kPacksGroup ? item.head : quotient(item.head, extents.group_heads);
  }
  __device__ __forceinline__ i32 key_batch() const {
    return extents.kv_batches == 1 ? 0 : item.batch;
  }
};

/// Query rows of a tile.
struct TileRows {
  i32 begin;
  i32 end;
};

/// Of a head with `rows` rows; with lists a tile ends where its block does.
template <bool kWalksLists>
__device__ __forceinline__ TileRows rows_of_tile(const PortableSchedule& schedule,
                                                 const SpanLists& lists, i32 tile, i32 rows) {
  if constexpr (kWalksLists) {
    const i32 block = quotient(tile, schedule.block_tiles);
    const i32 begin = (tile - block * schedule.block_tiles) * schedule.item_rows;
    const i32 end = min(begin + schedule.item_rows, lists.q_block_rows);
    const i32 first = block * lists.q_block_rows;
    return {min(first + begin, rows), min(first + end, rows)};
  } else {
    return {tile * schedule.item_rows, min((tile + 1) * schedule.item_rows, rows)};
  }
}

template <bool kPacksGroup, bool kWalksLists>
__device__ __forceinline__ WorkItem decode_portable_item(const PortableSchedule& schedule,
                                                         const SpanLists& lists,
                                                         const Extents& extents,
                                                         const KeyLengths& lengths, i32 index) {
  if (schedule.list != nullptr) return schedule.list[index];
  const i32 pack = kPacksGroup ? extents.group_heads : 1;
  const i32 heads_of_batch = quotient(extents.query_heads, pack);
  const i32 rows = extents.query_rows * pack;
  const i32 all_heads = extents.batches * heads_of_batch * schedule.splits;
  const bool has_sections = schedule.section_heads < all_heads;
  const i32 section = has_sections ? quotient(index, schedule.section_heads * schedule.q_tiles) : 0;
  const i32 first_head = section * schedule.section_heads;
  const i32 heads = min(schedule.section_heads, all_heads - first_head);
  const i32 inside = index - first_head * schedule.q_tiles;
  const i32 order = quotient(inside, heads);
  const i32 part = first_head + inside - order * heads;
  const i32 head = quotient(part, schedule.splits);
  const i32 split = part - head * schedule.splits;
  const i32 tile = schedule.last_tile_first != 0 ? schedule.q_tiles - 1 - order : order;
  const i32 batch = extents.batches == 1 ? 0 : quotient(head, heads_of_batch);
  const i64 kv_begin = static_cast<i64>(split) * schedule.split_keys;
  const i64 kv_end = kv_begin + schedule.split_keys;
  const i32 kv_rows = lengths.keys(batch, extents.kv_rows);
  const TileRows tile_rows = rows_of_tile<kWalksLists>(schedule, lists, tile, rows);
  return {.batch = batch,
          .head = head - batch * heads_of_batch,
          .q_begin = tile_rows.begin,
          .q_end = tile_rows.end,
          .kv_begin = static_cast<i32>(kv_begin < kv_rows ? kv_begin : kv_rows),
          .kv_end = static_cast<i32>(kv_end < kv_rows ? kv_end : kv_rows),
          .output_slot = split,
          .reserved = 0};
}

}  // namespace tilewright::cuda
