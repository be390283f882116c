// The producer warp: takes items, classifies key tiles and keeps the copy engine ahead of the consumers.
//
// Copies are issued in the order in which consumers use them: K0 Q | K1 V0 | K2 V1 | ... | K0' Q' | K1' V(last) | ... With a single
// query stage the last V goes before K0' and Q', because Q' waits for the last product with Q. The query and the first keys of the
// next item are brought into L2 while this one runs.
#pragma once

#include "attention/forward_layout.cuh"
#include "attention/forward_params.cuh"
#include "attention/forward_store.cuh"
#include "attention/tile_walk.cuh"
#include "ptx/global_memory.cuh"

namespace tilewright::cuda {

/// Hands out item indices: the block's own first, then from the global counter. One index is always fetched ahead.
struct ItemSource {
  const Schedule& schedule;
  u32 lane;
  u32 fetched = 0;

  __device__ __forceinline__ i32 first() {
    fetch();
    return static_cast<i32>(ptx::block_in_grid());
  }
  __device__ __forceinline__ i32 next() {
    const u32 index = ptx::broadcast(fetched, 0) + ptx::blocks_in_grid();
    if (index < static_cast<u32>(schedule.items)) fetch();
    return static_cast<i32>(index);
  }
  /// The last block to finish leaves the counters as it found them.
  __device__ __forceinline__ void finish() const {
    if (lane != 0) return;
    const u32 last = ptx::blocks_in_grid() - 1;
    if (ptx::count_up_wrapping(schedule.counters + 1, last) == last) {
      ptx::store(schedule.counters, 0u);
    }
  }

 private:
  __device__ __forceinline__ void fetch() {
    if (lane == 0) fetched = ptx::count_up(schedule.counters);
  }
};

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
  bool value_waits = false;                ///< a V tile is still to be copied
  ptx::TensorCoordinate value_source = {};  ///< where it lies

  __device__ __forceinline__ void run() {
    ItemSource source{params.schedule, lane};
    i32 index = source.first();
    while (index < params.schedule.items) index = produce_item(item_at_index(index), source);
    copy_waiting_value();
    end_stream();
    source.finish();
  }

  __device__ __forceinline__ WorkItem item_at_index(i32 index) const {
    return decode_item<Layout::kQueryTile>(params.schedule, params.extents, index);
  }

  /// Gives the index of the item that follows.
  __device__ __forceinline__ i32 produce_item(const WorkItem& item, ItemSource& source) {
    TileWalk<Variant::kKeyTile, Mods> walk(bindings, item);
    KeyTileRef tile = walk.next(lane);
    if (!tile.valid) {
      store_empty_item<Variant>(params, item, lane);
      return source.next();
    }
    publish(item);
    i32 next_index = 0;
    u32 flags = TileNote::kFirst;
    while (tile.valid) {
      const KeyTileRef following = walk.next(lane);
      flags |= tile.partial ? TileNote::kPartial : 0;
      flags |= following.valid ? 0 : TileNote::kLast;
      produce_tile(item, tile.kv_begin, flags | item_at.stage << TileNote::kSlotShift);
      if ((flags & TileNote::kFirst) != 0) {
        next_index = source.next();
        if (next_index < params.schedule.items) prefetch(item_at_index(next_index), tile.kv_begin);
      }
      tile = following;
      flags = 0;
    }
    item_at.advance();
    return next_index;
  }

  /// Brings the query of an item into L2, and the keys and values it is likely to begin with.
  __device__ __forceinline__ void prefetch(const WorkItem& item, i32 kv_begin) const {
    const ptx::TensorCoordinate keys = {0, kv_begin, item.head / params.extents.group_heads,
                                        params.extents.kv_batches == 1 ? 0 : item.batch};
    if (lane >= Layout::kPrefetchLanes) return;
    const i32 box = static_cast<i32>(lane) / 4;
    const i32 column = static_cast<i32>(lane) % 4 * kChunkColumns;
    if (box < Layout::kWarpgroups && column < Variant::kHeadDim) {
      const i32 row = item.q_begin + box * kWarpgroupRows;
      ptx::prefetch_box(&params.query, {column, row, item.head, item.batch});
    }
    if (box == Layout::kWarpgroups && column < Variant::kHeadDim) {
      ptx::prefetch_box(&params.key, {column, keys.row, keys.head, keys.batch});
    }
    if (box == Layout::kWarpgroups + 1 && column < Variant::kValueDim) {
      ptx::prefetch_box(&params.value, {column, keys.row, keys.head, keys.batch});
    }
  }

  /// Writes the item where consumers find it; the key barrier of its first tile makes it visible.
  __device__ __forceinline__ void publish(const WorkItem& item) {
    if (lane == 0) {
      layout.item_ring().wait_empty(item_at);
      layout.item(item_at.stage) = item;
    }
  }

  __device__ __forceinline__ void produce_tile(const WorkItem& item, i32 kv_begin, u32 flags) {
    const bool first = flags & TileNote::kFirst;
    const i32 kv_head = item.head / params.extents.group_heads;
    const i32 kv_batch = params.extents.kv_batches == 1 ? 0 : item.batch;
    const ptx::TensorCoordinate source = {0, kv_begin, kv_head, kv_batch};
    const bool value_first = Layout::kQueryStages == 1 && first;
    if (value_first) copy_waiting_value();
    copy_key(source, {kv_begin, flags});
    if (first) copy_query(item);
    if (!value_first) copy_waiting_value();
    value_waits = true;
    value_source = source;
  }

  __device__ __forceinline__ void copy_key(ptx::TensorCoordinate source, TileNote note) {
    if (lane == 0) {
      layout.key_ring().wait_empty(key_at);
      layout.note(key_at.stage) = note;
      const ptx::Mbarrier full = layout.key_ring().full(key_at.stage);
      ptx::arrive_expect_bytes(full, Layout::KeyTile::kBytes);
      copy_chunks<typename Layout::KeyTile>(layout.key(key_at.stage), &params.key, source, full);
    }
    key_at.advance();
  }

  __device__ __forceinline__ void copy_waiting_value() {
    if (!value_waits) return;
    if (lane == 0) {
      layout.value_ring().wait_empty(value_at);
      const ptx::Mbarrier full = layout.value_ring().full(value_at.stage);
      ptx::arrive_expect_bytes(full, Layout::ValueTile::kBytes);
      copy_chunks<typename Layout::ValueTile>(layout.value(value_at.stage), &params.value,
                                              value_source, full);
    }
    value_at.advance();
    value_waits = false;
  }

  /// Each warpgroup's 64 rows on a barrier of their own: one may be an item ahead of another.
  __device__ __forceinline__ void copy_query(const WorkItem& item) {
    if (lane == 0) {
      for (u32 w = 0; w < Layout::kWarpgroups; ++w) {
        layout.query_ring(w).wait_empty(query_at);
        const ptx::Mbarrier full = layout.query_ring(w).full(query_at.stage);
        ptx::arrive_expect_bytes(full, Layout::QueryTile::kBytes);
        const i32 row = item.q_begin + static_cast<i32>(w) * kWarpgroupRows;
        copy_chunks<typename Layout::QueryTile>(layout.query(query_at.stage, w), &params.query,
                                                {0, row, item.head, item.batch}, full);
      }
    }
    query_at.advance();
  }

  template <class Tile>
  static __device__ __forceinline__ void copy_chunks(ptx::SharedAddress to,
                                                     const ptx::TensorMap* map,
                                                     ptx::TensorCoordinate source,
                                                     ptx::Mbarrier full) {
#pragma unroll
    for (int chunk = 0; chunk < Tile::kChunks; ++chunk) {
      source.column = chunk * kChunkColumns;
      ptx::copy_box(to + chunk * Tile::kChunkBytes, map, source, full);
    }
  }

  __device__ __forceinline__ void end_stream() {
    if (lane != 0) return;
    layout.key_ring().wait_empty(key_at);
    layout.note(key_at.stage) = {0, TileNote::kEndsStream};
    ptx::arrive(layout.key_ring().full(key_at.stage));
  }
};

}  // namespace tilewright::cuda
