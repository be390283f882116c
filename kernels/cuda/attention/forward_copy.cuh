// The two copying threads, which keep the copy engine ahead of the consumers: one brings keys and
// values tile by tile as planned, the other the queries of each item as soon as there is room.
//
// Keys and values come in the order in which consumers use them: K0 | K1 V0 | K2 V1 | ... without a
// seam between items.
#pragma once

#include "attention/forward_layout.cuh"
#include "attention/forward_params.cuh"
#include "ptx/tensor_map_edit.cuh"
#include "tile/copy_tile.cuh"

namespace tilewright::cuda {

template <class Variant>
struct KeyValueCopier {
  using Layout = ForwardLayout<Variant>;
  /// A tile's keys, as the copy engine counts them.
  struct Place {
    i32 kv_begin, head, batch;
    const ptx::TensorMap* value;
  };

  const ForwardParams& params;
  Layout layout;
  const ForwardExtension* extension;
  PackedRingPosition<Layout::kPlanSlots> plan_at{};
  PackedRingPosition<Layout::kKeyStages> key_at{};
  PackedRingPosition<Layout::kValueStages> value_at{};

  __device__ __forceinline__ void run() {
    Place place = {-1, 0, 0, &params.value};
    TileNote note = take();
    while (!note.ends_stream()) {
      const Place before = place;
      if (note.first()) place = first_of(layout.item(note.item_slot()));
      place.kv_begin = note.kv_begin;
      copy_key(note, place);
      if (before.kv_begin >= 0) copy_value(before);
      note = take();
    }
    if (place.kv_begin >= 0) copy_value(place);
    end_stream();
  }

 private:
  __device__ __forceinline__ TileNote take() {
    layout.plan_ring().wait_full(plan_at.position());
    const TileNote note = layout.plan(plan_at.stage());
    ptx::arrive(layout.plan_ring().empty(plan_at.stage()));
    plan_at.advance();
    return note;
  }

  __device__ __forceinline__ Place first_of(const WorkItem& item) const {
    return {0, item.head / params.extents.group_heads,
            params.extents.kv_batches == 1 ? 0 : item.batch, value_map(item.batch)};
  }

  /// Values behind a batch's last key may be anything, and would be multiplied by zero: the map
  /// ends before them.
  __device__ __forceinline__ const ptx::TensorMap* value_map(i32 batch) const {
    if constexpr (Variant::kReadsLengths) {
      const ptx::TensorMap* const map = extension->value_maps + batch;
      ptx::acquire(map);
      return map;
    } else {
      return &params.value;
    }
  }

  __device__ __forceinline__ void copy_key(TileNote note, Place place) {
    layout.key_ring().wait_empty(key_at.position());
    layout.note(key_at.stage()) = note;
    const ptx::Mbarrier full = layout.key_ring().full(key_at.stage());
    ptx::arrive_expect_bytes(full, Layout::KeyTile::kBytes);
    copy_tile<typename Layout::KeyTile>(layout.key(key_at.stage()), &params.key,
                                        {0, place.kv_begin, place.head, place.batch}, full);
    key_at.advance();
  }

  __device__ __forceinline__ void copy_value(Place place) {
    layout.value_ring().wait_empty(value_at.position());
    const ptx::Mbarrier full = layout.value_ring().full(value_at.stage());
    ptx::arrive_expect_bytes(full, Layout::ValueTile::kBytes);
    copy_tile<typename Layout::ValueTile>(layout.value(value_at.stage()), place.value,
                                          {0, place.kv_begin, place.head, place.batch}, full);
    value_at.advance();
  }

  __device__ __forceinline__ void end_stream() {
    layout.key_ring().wait_empty(key_at.position());
    layout.note(key_at.stage()) = {0, TileNote::kEndsStream};
    ptx::arrive(layout.key_ring().full(key_at.stage()));
  }
};

template <class Variant>
struct QueryCopier {
  using Layout = ForwardLayout<Variant>;

  const ForwardParams& params;
  Layout layout;
  PackedRingPosition<Layout::kItemSlots> item_at{};
  PackedRingPosition<Layout::kQueryStages> query_at{};

  /// Consumers free an item's slot after they have stored it, which is after its query was copied.
  __device__ __forceinline__ void run() {
    while (true) {
      layout.item_ring().wait_full(item_at.position());
      const WorkItem& item = layout.item(item_at.stage());
      if (item.head == WorkItem::kNone) return;
      copy(item);
      item_at.advance();
      query_at.advance();
    }
  }

 private:
  /// Each warpgroup's 64 rows on a barrier of their own: one may be an item ahead of another.
  __device__ __forceinline__ void copy(const WorkItem& item) {
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
};

}  // namespace tilewright::cuda
