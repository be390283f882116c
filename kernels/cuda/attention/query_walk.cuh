// Which query tiles of a stream see an item's keys: the walk of tile_walk.cuh from the other side,
// ascending. Without a mask, items of different keys begin at different query tiles and wrap
// around, so that blocks which run at the same time do not add to the same dQ.
//
// Where additions have a fixed order, by descending keys, blocks that run at the same time come to
// a query tile in that order by themselves: behind a diagonal or a window's begin the walk of
// higher keys is ahead.
#pragma once

#include "attention/backward_item.cuh"
#include "attention/key_tile_turn.cuh"
#include "ptx/lane.cuh"
#include "ptx/numbers.cuh"

namespace tilewright::cuda {

/// A tile of which some row sees the item's keys.
struct QueryTileRef {
  i32 q_begin;
  u32 turn;  ///< 1 + the key tile that adds to it right before this one does, 0 if none
  bool partial;
  bool valid;  ///< false: the walk is over
};

template <class Layout, bool kOrdered, class Mods>
struct QueryWalk {
  static constexpr i32 kQueryTile = Layout::kQueryTile;
  static constexpr i32 kKeyTile = Layout::kKeyTile;

  const typename Mods::Bindings& bindings;
  typename Mods::Head head;
  i32 q_rows, kv_rows;
  i32 kv_begin, kv_end;
  bool keys_cut;  ///< the key tile is not whole
  i32 tiles;
  i32 next_block = 0;  ///< of 32 groups of 32 tiles; without a mask the tiles walked so far
  i32 group = 0;
  u32 live_groups = 0;
  u32 live_tiles = 0;
  u32 partial_tiles = 0;
  u32 lane_turn = 0;  ///< of this lane's tile of the group

  __device__ __forceinline__ QueryWalk(const typename Mods::Bindings& bound, i32 queries)
      : bindings(bound), q_rows(queries), tiles((queries + kQueryTile - 1) / kQueryTile) {}

  /// @param keys  that the stream has, more than lie before the item's
  __device__ __forceinline__ void start(const BackwardItem& item, i32 batch, i32 query_head,
                                        i32 keys) {
    head = Mods::head(bindings, batch, query_head);
    kv_rows = keys;
    kv_begin = item.kv_begin;
    kv_end = min(item.kv_end, keys);
    keys_cut = kv_end - kv_begin < kKeyTile;
    next_block = 0;
    live_groups = live_tiles = 0;
  }

  /// Called by the whole warp.
  __device__ __forceinline__ QueryTileRef next(u32 lane) {
    if constexpr (!Mods::kHasMaskMod) {
      return next_of_all();
    } else {
      return next_live(lane);
    }
  }

 private:
  __device__ __forceinline__ QueryTileRef next_of_all() {
    if (next_block == tiles) return {0, 0, false, false};
    const i32 start = kOrdered ? 0 : kv_begin / kQueryTile % tiles;
    const i32 at = next_block + start < tiles ? next_block + start : next_block + start - tiles;
    ++next_block;
    const bool rows_cut = (at + 1) * kQueryTile > q_rows;
    return {at * kQueryTile, turn_of_all(), keys_cut || rows_cut, true};
  }

  __device__ __forceinline__ u32 turn_of_all() const {
    const u32 key_tile = static_cast<u32>(kv_begin / kKeyTile);
    if constexpr (!Layout::kDescends) return key_tile;
    return kv_begin + kKeyTile < kv_rows ? key_tile + 2 : 0;
  }

  __device__ __forceinline__ QueryTileRef next_live(u32 lane) {
    while (live_tiles == 0) {
      while (live_groups == 0) {
        if (next_block * 1024 >= tiles) return {0, 0, false, false};
        look_at_block(lane);
      }
      look_at_group(lane);
    }
    const u32 index = ptx::lowest_bit(live_tiles);
    live_tiles ^= 1u << index;
    const i32 tile = group * 32 + static_cast<i32>(index);
    const u32 turn = kOrdered ? ptx::broadcast(lane_turn, index) : 0;
    return {tile * kQueryTile, turn, (partial_tiles >> index & 1) != 0, true};
  }

  __device__ __forceinline__ void look_at_block(u32 lane) {
    const i32 first_group = next_block * 32 + static_cast<i32>(lane);
    const TileClass found = classify(first_group * 32 * kQueryTile, 32 * kQueryTile);
    live_groups = ptx::ballot(found != TileClass::kEmpty);
    ++next_block;
  }

  __device__ __forceinline__ void look_at_group(u32 lane) {
    const u32 index = ptx::lowest_bit(live_groups);
    live_groups ^= 1u << index;
    group = (next_block - 1) * 32 + static_cast<i32>(index);
    const i32 first = (group * 32 + static_cast<i32>(lane)) * kQueryTile;
    const TileClass found = classify(first, kQueryTile);
    live_tiles = ptx::ballot(found != TileClass::kEmpty);
    partial_tiles = ptx::ballot(found == TileClass::kPartial);
    if constexpr (kOrdered) lane_turn = found == TileClass::kEmpty ? 0 : turn_at(first);
  }

  __device__ __forceinline__ u32 turn_at(i32 first) const {
    const i32 end = min(first + kQueryTile, q_rows);
    if constexpr (Layout::kDescends) {
      return descending_turn_by_mask<kKeyTile, Mods>(bindings, head,
                                                     {first, end, kv_begin, kv_rows});
    } else {
      return turn_by_mask<kKeyTile, Mods>(bindings, head, first, end, kv_begin);
    }
  }

  /// The class of query rows [first, first + count), as far as they exist.
  __device__ __forceinline__ TileClass classify(i32 first, i32 count) const {
    if (first >= q_rows) return TileClass::kEmpty;
    const i32 end = min(first + count, q_rows);
    const typename Mods::Band band = Mods::band(bindings, head, first, end);
    const TileClass result = Mods::classify(bindings, head, band, {first, end, kv_begin, kv_end});
    const bool cut = keys_cut || end - first < count;
    return cut && result == TileClass::kFull ? TileClass::kPartial : result;
  }
};

}  // namespace tilewright::cuda
