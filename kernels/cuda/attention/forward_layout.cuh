// Shared memory of a forward block, and the numbers that follow from a variant.
//
// A variant is a struct with: Element (Bf16 or F16), kHeadDim, kValueDim (multiples of 8, at most
// 256), kWarpgroups (1 to 3), kKeyTile (a multiple of 16), kQueryStages, kKeyStages, kValueStages,
// kPingPong, kDefersCheck, kTracksMaximum, kScalesFirst, kPolynomialPeriod, kWalksLists (key tiles
// come from span lists), kReadsLengths (of each batch's keys, from a table on the device).
#pragma once

#include "attention/work_item.cuh"
#include "pipeline/ring.cuh"
#include "tile/accumulator.cuh"
#include "tile/shared_tile.cuh"

namespace tilewright::cuda {

/// What the planning warp tells the copying thread, and that one the consumers, about a key tile.
struct TileNote {
  static constexpr u32 kPartial = 1, kFirst = 2, kLast = 4, kEndsStream = 8;
  static constexpr u32 kByMask = 16;  ///< lists: mask_mod decides the pairs of a partial tile
  static constexpr u32 kKeysShift = 8, kSlotShift = 24;
  i32 kv_begin;
  u32 flags;  ///< the bits above; with lists the tile's keys from bit 8; the item's slot from bit
              ///< 24

  __device__ __forceinline__ bool partial() const { return flags & kPartial; }
  __device__ __forceinline__ bool first() const { return flags & kFirst; }
  __device__ __forceinline__ bool last() const { return flags & kLast; }
  __device__ __forceinline__ bool ends_stream() const { return flags & kEndsStream; }
  __device__ __forceinline__ bool by_mask() const { return flags & kByMask; }
  __device__ __forceinline__ u32 item_slot() const { return flags >> kSlotShift; }
  /// With lists: behind the last key that the tile is about.
  __device__ __forceinline__ i32 listed_end() const {
    return kv_begin + static_cast<i32>(flags >> kKeysShift & 0xffff);
  }
};

template <class Variant>
struct ForwardLayout {
  static constexpr int kWarpgroups = Variant::kWarpgroups;
  static constexpr int kKeyStages = Variant::kKeyStages;
  static constexpr int kValueStages = Variant::kValueStages;
  static constexpr int kQueryStages = Variant::kQueryStages;
  static constexpr int kQueryTile = kWarpgroups * kWarpgroupRows;
  static constexpr int kThreads = 128 * (kWarpgroups + 1);
  /// Tiles that the planning warp may be ahead of the copies.
  static constexpr int kPlanSlots = 8;
  /// The item being stored, the current one, the one being opened and what is planned beyond.
  static constexpr int kItemSlots = 6;
  static constexpr u32 kConsumerWarps = 4 * kWarpgroups;

  using QueryTile = SharedTile<kWarpgroupRows, Variant::kHeadDim>;
  using KeyTile = SharedTile<Variant::kKeyTile, Variant::kHeadDim>;
  using ValueTile = SharedTile<Variant::kKeyTile, Variant::kValueDim>;

  /// An item's outputs pass through the stage of its query on their way to memory, where they fit
  /// and another stage takes the next query meanwhile.
  static constexpr bool kStagesOut = kQueryStages > 1 && ValueTile::kChunks <= QueryTile::kChunks;

  static constexpr int kQueryAt = 0;
  static constexpr int kKeyAt = kQueryAt + kQueryStages * kWarpgroups * QueryTile::kBytes;
  static constexpr int kValueAt = kKeyAt + kKeyStages * KeyTile::kBytes;
  static constexpr int kItemsAt = kValueAt + kValueStages * ValueTile::kBytes;
  static constexpr int kNotesAt = kItemsAt + kItemSlots * static_cast<int>(sizeof(WorkItem));
  static constexpr int kPlansAt = kNotesAt + kKeyStages * static_cast<int>(sizeof(TileNote));
  static constexpr int kKeyBarriersAt = kPlansAt + kPlanSlots * static_cast<int>(sizeof(TileNote));
  static constexpr int kValueBarriersAt = kKeyBarriersAt + RingBarriers<kKeyStages>::kBytes;
  static constexpr int kQueryBarriersAt = kValueBarriersAt + RingBarriers<kValueStages>::kBytes;
  static constexpr int kItemBarriersAt =
      kQueryBarriersAt + kWarpgroups * RingBarriers<kQueryStages>::kBytes;
  static constexpr int kPlanBarriersAt = kItemBarriersAt + RingBarriers<kItemSlots>::kBytes;
  static constexpr int kAlarmsAt = kPlanBarriersAt + RingBarriers<kPlanSlots>::kBytes;
  /// Dynamic shared memory of a block. The window starts 1024-byte aligned, which the swizzle
  /// needs.
  static constexpr int kBytes = kAlarmsAt + 8 * kWarpgroups;

  static_assert(Variant::kKeyTile % 16 == 0 && Variant::kKeyTile <= 256);
  static_assert(Variant::kHeadDim % 8 == 0 && Variant::kValueDim % 8 == 0);
  static_assert(kBytes <= 227 * 1024);

  /// Registers a thread after the roles have split: of the 504 or 512 that a thread of each role
  /// has together, consumers get what scores, products and probabilities take and some more, the
  /// producer the rest.
  static constexpr int kFragmentRegisters = Variant::kKeyTile * 3 / 4 + Variant::kValueDim / 2;
  static constexpr u32 kConsumerRegisters = kWarpgroups == 3            ? 160
                                            : kFragmentRegisters >= 176 ? 232
                                            : kWarpgroups == 2          ? 224
                                                                        : 240;
  static constexpr u32 kProducerRegisters = kWarpgroups == 3   ? 32
                                            : kWarpgroups == 1 ? 240
                                                               : 504 - 2 * kConsumerRegisters;

  unsigned char* memory;

  __device__ __forceinline__ ptx::SharedAddress at(u32 offset_bytes) const {
    return ptx::shared_address(memory) + offset_bytes;
  }
  __device__ __forceinline__ ptx::SharedAddress query(u32 stage, u32 warpgroup) const {
    return at(kQueryAt + (stage * kWarpgroups + warpgroup) * QueryTile::kBytes);
  }
  __device__ __forceinline__ ptx::SharedAddress key(u32 stage) const {
    return at(kKeyAt + stage * KeyTile::kBytes);
  }
  __device__ __forceinline__ ptx::SharedAddress value(u32 stage) const {
    return at(kValueAt + stage * ValueTile::kBytes);
  }
  __device__ __forceinline__ WorkItem& item(u32 slot) const {
    return reinterpret_cast<WorkItem*>(memory + kItemsAt)[slot];
  }
  __device__ __forceinline__ TileNote& note(u32 stage) const {
    return reinterpret_cast<TileNote*>(memory + kNotesAt)[stage];
  }
  __device__ __forceinline__ TileNote& plan(u32 slot) const {
    return reinterpret_cast<TileNote*>(memory + kPlansAt)[slot];
  }
  __device__ __forceinline__ RingBarriers<kKeyStages> key_ring() const {
    return {at(kKeyBarriersAt)};
  }
  __device__ __forceinline__ RingBarriers<kValueStages> value_ring() const {
    return {at(kValueBarriersAt)};
  }
  /// A ring per warpgroup: each frees its own 64 query rows.
  __device__ __forceinline__ RingBarriers<kQueryStages> query_ring(u32 warpgroup) const {
    return {at(kQueryBarriersAt + warpgroup * RingBarriers<kQueryStages>::kBytes)};
  }
  __device__ __forceinline__ RingBarriers<kItemSlots> item_ring() const {
    return {at(kItemBarriersAt)};
  }
  __device__ __forceinline__ RingBarriers<kPlanSlots> plan_ring() const {
    return {at(kPlanBarriersAt)};
  }

  /// Two words of a warpgroup's RangeAlarm.
  __device__ __forceinline__ ptx::SharedAddress alarms(u32 warpgroup) const {
    return at(kAlarmsAt + 8 * warpgroup);
  }

  __device__ __forceinline__ void init_barriers() const {
    for (u32 w = 0; w < 2 * kWarpgroups; ++w) ptx::store_shared_u32(alarms(0) + 4 * w, 0);
    key_ring().init(1, kConsumerWarps);
    value_ring().init(1, kConsumerWarps);
    for (u32 w = 0; w < kWarpgroups; ++w) query_ring(w).init(1, 4);
    item_ring().init(1, kConsumerWarps);
    plan_ring().init(1, 1);
    ptx::fence_barrier_init();
  }
};

}  // namespace tilewright::cuda
