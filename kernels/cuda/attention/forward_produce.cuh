// The producer warp: takes items, classifies key tiles and keeps the copy engine ahead of the
// consumers.
//
// Copies are issued in the order in which consumers use them: K0 Q | K1 V0 | K2 V1 | ... ; at an
// item's end the last V, then the next item's K0 and Q, so that no wait of one item delays the
// other.
#pragma once

#include "attention/forward_layout.cuh"
#include "attention/forward_params.cuh"
#include "attention/forward_store.cuh"
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
  RingPosition<Layout::kKeyStages> key_at{};
  RingPosition<Layout::kValueStages> value_at{};
  RingPosition<Layout::kItemSlots> item_at{};
  RingPosition<Layout::kQueryStages> query_at{};
  i32 kv_head = 0, kv_batch = 0;            ///< of the current item
  bool value_waits = false;                 ///< a V tile is still to be copied
  ptx::TensorCoordinate value_source = {};  ///< where it lies

  __device__ __forceinline__ void run() {
    ItemSource source{params.schedule.counters, params.schedule.items, lane};
    for (i32 index = source.first(); index < params.schedule.items; index = source.next()) {
      produce_item(decode_item<Layout::kQueryTile>(params.schedule, params.extents, index));
    }
    copy_waiting_value();
    end_stream();
    source.finish();
  }

  __device__ __forceinline__ void produce_item(const WorkItem& item) {
    TileWalk<Variant::kKeyTile, Mods> walk(bindings, item);
    KeyTileRef tile = walk.next(lane);
    if (!tile.valid) {
      store_empty_item<Variant>(params, item, lane);
      return;
    }
    publish(item);
    kv_head = item.head / params.extents.group_heads;
    kv_batch = params.extents.kv_batches == 1 ? 0 : item.batch;
    u32 flags = TileNote::kFirst;
    while (tile.valid) {
      const KeyTileRef following = walk.next(lane);
      flags |= tile.partial ? TileNote::kPartial : 0;
      flags |= following.valid ? 0 : TileNote::kLast;
      produce_tile(tile.kv_begin, flags | item_at.stage << TileNote::kSlotShift);
      tile = following;
      flags = 0;
    }
    item_at.advance();
  }

  /// Writes the item where consumers find it; the key barrier of its first tile makes it visible.
  __device__ __forceinline__ void publish(const WorkItem& item) {
    if (lane == 0) {
      layout.item_ring().wait_empty(item_at);
      layout.item(item_at.stage) = item;
    }
  }

  __device__ __forceinline__ void produce_tile(i32 kv_begin, u32 flags) {
    const bool first = flags & TileNote::kFirst;
    const ptx::TensorCoordinate source = {0, kv_begin, kv_head, kv_batch};
    if (first) copy_waiting_value();
    copy_key(source, {kv_begin, flags});
    if (first) copy_query();
    if (!first) copy_waiting_value();
    value_waits = true;
    value_source = source;
  }

  __device__ __forceinline__ void copy_key(ptx::TensorCoordinate source, TileNote note) {
    if (lane == 0) {
      layout.key_ring().wait_empty(key_at);
      layout.note(key_at.stage) = note;
      const ptx::Mbarrier full = layout.key_ring().full(key_at.stage);
      ptx::arrive_expect_bytes(full, Layout::KeyTile::kBytes);
      copy_tile<typename Layout::KeyTile>(layout.key(key_at.stage), &params.key, source, full);
    }
    key_at.advance();
  }

  __device__ __forceinline__ void copy_waiting_value() {
    if (!value_waits) return;
    if (lane == 0) {
      layout.value_ring().wait_empty(value_at);
      const ptx::Mbarrier full = layout.value_ring().full(value_at.stage);
      ptx::arrive_expect_bytes(full, Layout::ValueTile::kBytes);
      copy_tile<typename Layout::ValueTile>(layout.value(value_at.stage), &params.value,
                                            value_source, full);
    }
    value_at.advance();
    value_waits = false;
  }

  /// Each warpgroup's 64 rows on a barrier of their own: one may be an item ahead of another.
  __device__ __forceinline__ void copy_query() {
    if (lane == 0) {
      const WorkItem& item = layout.item(item_at.stage);
      for (u32 w = 0; w < Layout::kWarpgroups; ++w) {
        layout.query_ring(w).wait_empty(query_at);
        const ptx::Mbarrier full = layout.query_ring(w).full(query_at.stage);
        ptx::arrive_expect_bytes(full, Layout::QueryTile::kBytes);
        const i32 row = item.q_begin + static_cast<i32>(w) * kWarpgroupRows;
        copy_tile<typename Layout::QueryTile>(layout.query(query_at.stage, w), &params.query,
                                              {0, row, item.head, item.batch}, full);
      }
    }
    query_at.advance();
  }

  __device__ __forceinline__ void end_stream() {
    if (lane != 0) return;
    layout.key_ring().wait_empty(key_at);
    layout.note(key_at.stage) = {0, TileNote::kEndsStream};
    ptx::arrive(layout.key_ring().full(key_at.stage));
  }
};

}  // namespace tilewright::cuda
