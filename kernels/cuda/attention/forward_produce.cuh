// The producer warp: takes items, classifies key tiles and keeps the copy engine ahead of the
// consumers.
//
// Copies are issued in the order in which consumers use them: K0 Q | K1 V0 | K2 V1 | ... ; at an
// item's end the last V, then the next item's K0 and Q. Registers are scarce: the item's bounds are
// read from shared memory where they are needed, and the mask's code is there once.
#pragma once

#include "attention/forward_layout.cuh"
#include "attention/forward_params.cuh"
#include "attention/item_source.cuh"
#include "attention/tile_walk.cuh"
#include "tile/copy_tile.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods>
struct ForwardProducer {
  using Layout = ForwardLayout<Variant>;

  const ForwardParams& params;
  const typename Mods::Bindings& bindings;
  Layout layout;
  u32 lane;
  PackedRingPosition<Layout::kKeyStages> key_at{};
  PackedRingPosition<Layout::kValueStages> value_at{};
  PackedRingPosition<Layout::kItemSlots> item_at{};
  PackedRingPosition<Layout::kQueryStages> query_at{};
  i32 kv_head = 0, kv_batch = 0;  ///< of the current item

  __device__ __forceinline__ void run() {
    ItemSource source{params.schedule.counters, params.schedule.items, lane};
    for (i32 index = source.first(); index < params.schedule.items; index = source.next()) {
      produce_item(decode_item<Layout::kQueryTile>(params.schedule, params.extents, index));
    }
    end_stream();
    source.finish();
  }

  /// Each tile is sent once the one after it is known, which tells whether it is the last, and its
  /// values once the keys of that one are sent. An item in which no row sees a key sends one tile
  /// of dead pairs: consumers write its zeros.
  __device__ __forceinline__ void produce_item(const WorkItem& item) {
    publish(item);
    TileWalk<Variant::kKeyTile, Mods> walk(bindings, layout.item(item_at.stage()));
    kv_head = item.head / params.extents.group_heads;
    kv_batch = params.extents.kv_batches == 1 ? 0 : item.batch;
    KeyTileRef tile = {item.kv_begin, true, false};
    i32 value_at_key = -1;
    u32 flags = TileNote::kFirst | item_at.stage() << TileNote::kSlotShift;
    bool is_last = false;
    while (!is_last) {
      const KeyTileRef following = walk.next(lane);
      is_last = !following.valid;
      if (tile.valid || is_last) {
        flags |= (tile.partial ? TileNote::kPartial : 0) | (is_last ? TileNote::kLast : 0);
        copy_key({tile.kv_begin, flags});
        if (flags & TileNote::kFirst) copy_query();
        if (value_at_key >= 0) copy_value(value_at_key);
        value_at_key = tile.kv_begin;
        flags = item_at.stage() << TileNote::kSlotShift;
      }
      tile = following;
    }
    copy_value(value_at_key);
    item_at.advance();
  }

  /// Writes the item where the warp and the consumers find it; the key barrier of its first tile
  /// makes it visible to them.
  __device__ __forceinline__ void publish(const WorkItem& item) {
    if (lane == 0) {
      layout.item_ring().wait_empty(item_at.position());
      layout.item(item_at.stage()) = item;
    }
    ptx::sync_warp();
  }

  __device__ __forceinline__ void copy_key(TileNote note) {
    if (lane == 0) {
      layout.key_ring().wait_empty(key_at.position());
      layout.note(key_at.stage()) = note;
      const ptx::Mbarrier full = layout.key_ring().full(key_at.stage());
      ptx::arrive_expect_bytes(full, Layout::KeyTile::kBytes);
      copy_tile<typename Layout::KeyTile>(layout.key(key_at.stage()), &params.key,
                                          {0, note.kv_begin, kv_head, kv_batch}, full);
    }
    key_at.advance();
  }

  __device__ __forceinline__ void copy_value(i32 kv_begin) {
    if (lane == 0) {
      layout.value_ring().wait_empty(value_at.position());
      const ptx::Mbarrier full = layout.value_ring().full(value_at.stage());
      ptx::arrive_expect_bytes(full, Layout::ValueTile::kBytes);
      copy_tile<typename Layout::ValueTile>(layout.value(value_at.stage()), &params.value,
                                            {0, kv_begin, kv_head, kv_batch}, full);
    }
    value_at.advance();
  }

  /// Each warpgroup's 64 rows on a barrier of their own: one may be an item ahead of another.
  __device__ __forceinline__ void copy_query() {
    if (lane == 0) {
      const WorkItem& item = layout.item(item_at.stage());
#pragma unroll 1
      for (u32 w = 0; w < Layout::kWarpgroups; ++w) {
        layout.query_ring(w).wait_empty(query_at.position());
        const ptx::Mbarrier full = layout.query_ring(w).full(query_at.stage());
        ptx::arrive_expect_bytes(full, Layout::QueryTile::kBytes);
        const i32 row = item.q_begin + static_cast<i32>(w) * kWarpgroupRows;
        copy_tile<typename Layout::QueryTile>(layout.query(query_at.stage(), w), &params.query,
                                              {0, row, item.head, item.batch}, full);
      }
    }
    query_at.advance();
  }

  __device__ __forceinline__ void end_stream() {
    if (lane != 0) return;
    layout.key_ring().wait_empty(key_at.position());
    layout.note(key_at.stage()) = {0, TileNote::kEndsStream};
    ptx::arrive(layout.key_ring().full(key_at.stage()));
  }
};

}  // namespace tilewright::cuda
