// The planning warp: takes items, classifies their key tiles and says in which order the copying
// thread brings them.
//
// It runs ahead of the copies by as many tiles as the ring of plans holds, so that what a mask
// loads from tables to classify a tile costs nobody time.
#pragma once

#include "attention/forward_layout.cuh"
#include "attention/forward_params.cuh"
#include "attention/item_source.cuh"
#include "attention/span_walk.cuh"
#include "attention/tile_walk.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods>
struct ForwardPlanner {
  using Layout = ForwardLayout<Variant>;

  const ForwardParams& params;
  const typename Mods::Bindings& bindings;
  Layout layout;
  u32 lane;
  const ForwardExtension* extension;
  PackedRingPosition<Layout::kPlanSlots> plan_at{};
  PackedRingPosition<Layout::kItemSlots> item_at{};

  __device__ __forceinline__ void run() {
    ItemSource<> source{params.schedule.counters, params.schedule.items, lane};
    for (i32 index = source.first(); index < params.schedule.items; index = source.next()) {
      WorkItem item = decode_item<Layout::kQueryTile>(params.schedule, params.extents, index);
      if constexpr (Variant::kWalksLists) cut_to_block<Layout::kQueryTile>(item, extension->lists);
      if constexpr (Variant::kReadsLengths) {
        item.kv_end = extension->lengths.keys(item.batch, item.kv_end);
      }
      plan_item(item);
    }
    publish({.head = WorkItem::kNone});
    plan({0, TileNote::kEndsStream});
    source.finish();
  }

  /// Each tile is planned once the one after it is known, which tells whether it is the last. An
  /// item in which no row sees a key has one tile of dead pairs: consumers write its zeros.
  __device__ __forceinline__ void plan_item(const WorkItem& item) {
    publish(item);
    auto walk = walk_of(layout.item(item_at.stage()));
    auto tile = walk.dead_tile(item.kv_begin);
    u32 flags = TileNote::kFirst | item_at.stage() << TileNote::kSlotShift;
    bool is_last = false;
    while (!is_last) {
      const auto following = walk.next(lane);
      is_last = !following.valid;
      if (tile.valid || is_last) {
        flags |= tile.flags() | (is_last ? TileNote::kLast : 0);
        plan({tile.kv_begin, flags});
        flags = item_at.stage() << TileNote::kSlotShift;
      }
      tile = following;
    }
    item_at.advance();
  }

  __device__ __forceinline__ auto walk_of(const WorkItem& item) const {
    if constexpr (Variant::kWalksLists) {
      return SpanWalk<Variant::kKeyTile, Mods::kHasMaskMod>(extension->lists.spans, item);
    } else {
      return TileWalk<Variant::kKeyTile, Mods>(bindings, item);
    }
  }

  /// Writes the item where everybody finds it.
  __device__ __forceinline__ void publish(const WorkItem& item) {
    if (lane == 0) {
      layout.item_ring().wait_empty(item_at.position());
      layout.item(item_at.stage()) = item;
      ptx::arrive(layout.item_ring().full(item_at.stage()));
    }
    ptx::sync_warp();
  }

  __device__ __forceinline__ void plan(TileNote note) {
    if (lane == 0) {
      layout.plan_ring().wait_empty(plan_at.position());
      layout.plan(plan_at.stage()) = note;
      ptx::arrive(layout.plan_ring().full(plan_at.stage()));
    }
    plan_at.advance();
  }
};

}  // namespace tilewright::cuda
