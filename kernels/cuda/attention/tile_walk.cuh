// Which key tiles an item visits: the planning warp's search with the interval form of the mask.
// One evaluation per lane classifies 32 tiles, before that 32 groups of 32 tiles where there are
// many, and before that 32 blocks of 32 groups; a ballot tells all lanes. Tiles come last first,
// because a mask that keeps recent keys (causal, ALiBi) then meets its largest scores at once and
// rescaling stays rare. Without a mask the query tiles of a head begin at different key tiles and
// wrap around: blocks that run at the same time then do not all miss the cache on the same keys,
// each finds what the others have brought.
#pragma once

#include "attention/forward_layout.cuh"
#include "attention/mods_contract.cuh"
#include "attention/work_item.cuh"
#include "ptx/lane.cuh"
#include "ptx/numbers.cuh"

namespace tilewright::cuda {

/// A tile that some row of the item sees.
struct KeyTileRef {
  i32 kv_begin;
  bool partial;
  bool valid;  ///< false: the walk is over

  /// Of the tile's note.
  __device__ __forceinline__ u32 flags() const { return partial ? TileNote::kPartial : 0; }
};

template <int kKeyTile, class Mods>
struct TileWalk {
  static constexpr i32 kGroupKeys = 32 * kKeyTile, kBlockKeys = 32 * kGroupKeys;

  const typename Mods::Bindings& bindings;
  const WorkItem& item;  ///< in shared memory
  typename Mods::Head head;
  typename Mods::Band band;
  i32 section = 0;  ///< of 32 blocks: those before it are still to be looked at
  i32 block = 0;
  i32 group = 0;
  u32 live_blocks = 0;
  u32 live_groups = 0;
  u32 live_tiles = 0;
  u32 partial_tiles = 0;
  u32 preferred_tiles = ~0u;  ///< of a group, visited before the others

  __device__ __forceinline__ TileWalk(const typename Mods::Bindings& bound, const WorkItem& at)
      : bindings(bound),
        item(at),
        head(Mods::head(bound, at.batch, at.head)),
        band(Mods::band(bound, head, at.q_begin, at.q_end)) {
    // What few keys have one or two of is not worth a look.
    const i32 keys = at.kv_end - at.kv_begin;
    const i32 groups = (keys + kGroupKeys - 1) / kGroupKeys;
    const i32 blocks = (keys + kBlockKeys - 1) / kBlockKeys;
    if (groups <= 2) {
      live_groups = (1u << groups) - 1;
    } else if (blocks == 1) {
      live_blocks = 1;
    } else {
      section = (blocks + 31) / 32;
    }
  }

  /// The class of keys [index * count, (index + 1) * count) of the item, as far as they exist.
  __device__ __forceinline__ TileClass classify(i32 index, i32 count) const {
    const u32 first = static_cast<u32>(index) * static_cast<u32>(count);
    const i32 begin = item.kv_begin + static_cast<i32>(first), kv_end = item.kv_end;
    if (first >= static_cast<u32>(kv_end - item.kv_begin)) return TileClass::kEmpty;
    const bool cut = begin + count > kv_end;
    TileClass result = TileClass::kFull;
    if constexpr (Mods::kHasMaskMod) {
      result = Mods::classify(bindings, head, band,
                              {item.q_begin, item.q_end, begin, cut ? kv_end : begin + count});
    }
    return cut && result == TileClass::kFull ? TileClass::kPartial : result;
  }

  /// Classifies the 32 tiles of a group, where no group is left the 32 groups of a block, and where
  /// no block is left the 32 blocks of a section: one place for all, so that the mask's code is
  /// there once.
  __device__ __forceinline__ void look(u32 lane) {
    const bool at_tiles = live_groups != 0, at_groups = !at_tiles && live_blocks != 0;
    if (at_tiles) {
      group = block * 32 + take_last(live_groups);
    } else if (at_groups) {
      block = section * 32 + take_last(live_blocks);
    } else {
      --section;
    }
    const i32 parent = at_tiles ? group : at_groups ? block : section;
    const i32 count = at_tiles ? kKeyTile : at_groups ? kGroupKeys : kBlockKeys;
    const TileClass found = classify(parent * 32 + static_cast<i32>(lane), count);
    const u32 live = ptx::ballot(found != TileClass::kEmpty);
    const u32 partial = ptx::ballot(found == TileClass::kPartial);
    if (!at_tiles) {
      (at_groups ? live_groups : live_blocks) = live;
      return;
    }
    live_tiles = live;
    partial_tiles = partial;
    if constexpr (!Mods::kHasMaskMod) {
      const u32 tiles = ptx::highest_bit(live_tiles) + 1;
      preferred_tiles = ptx::low_bits(static_cast<u32>(item.q_begin) / kKeyTile % tiles + 1);
    }
  }

  /// The highest of a set, which leaves it.
  static __device__ __forceinline__ i32 take_last(u32& live) {
    const u32 index = ptx::highest_bit(live);
    live ^= 1u << index;
    return static_cast<i32>(index);
  }

  /// What an item without a live tile has.
  static __device__ __forceinline__ KeyTileRef dead_tile(i32 kv_begin) {
    return {kv_begin, true, false};
  }

  /// Called by the whole warp.
  __device__ __forceinline__ KeyTileRef next(u32 lane) {
    while (live_tiles == 0) {
      if (live_groups == 0 && live_blocks == 0 && section == 0) return {0, false, false};
      look(lane);
    }
    const u32 preferred = live_tiles & preferred_tiles;
    const u32 index = ptx::highest_bit(preferred != 0 ? preferred : live_tiles);
    live_tiles ^= 1u << index;
    const i32 tile = group * 32 + static_cast<i32>(index);
    const i32 kv_begin = item.kv_begin + tile * kKeyTile;
    // Without a mask only the end of the keys cuts a tile.
    const bool partial =
        Mods::kHasMaskMod ? (partial_tiles >> index & 1) != 0 : kv_begin + kKeyTile > item.kv_end;
    return {kv_begin, partial, true};
  }
};

}  // namespace tilewright::cuda
