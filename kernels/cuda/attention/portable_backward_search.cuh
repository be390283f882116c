// Which query tiles an item visits: of every stream (batch, query head) that shares its keys, those
// of which some row sees them. One warp finds up to a page of visits at a time and leaves them in
// shared memory, as portable_search.cuh does from the other side.
//
// Without lists: 32 groups of 32 tiles and then 32 tiles by one evaluation of the mask's interval
// form a lane, ascending. Without a mask, items of different keys begin at different tiles and wrap
// around, so that blocks which run at the same time do not add to the same dQ; not where additions
// have a fixed order. With lists: a lane finds the spans of a tile that reach into the keys, a
// visit each; spans that touch and are of one kind are one visit.
#pragma once

#include "attention/key_tile_turn.cuh"
#include "attention/list_visits.cuh"
#include "attention/portable_backward_layout.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods>
struct PortableBackwardSearch {
  using Layout = PortableBackwardLayout<Variant>;
  using Head = typename Mods::Head;
  static constexpr bool kOrdered = Variant::kDeterministic;
  static constexpr i32 kKeyTile = Layout::kKeyTile;

  const PortableBackwardParams& params;
  const typename Mods::Bindings& bindings;
  const Layout& layout;
  u32 lane;

  /// Called by one warp; keeps the last visit of the page, then fills it as far as whole steps
  /// of 32 tiles fit.
  __device__ __forceinline__ void fill() const {
    VisitSearch state = layout.search();
    if (state.visits != 0 && lane == 0) {
      layout.page()[Layout::kPageVisits] = layout.page()[state.visits - 1];
    }
    ptx::sync_warp();
    state.visits = 0;
    while (state.finished == 0 && state.visits <= Layout::kPageVisits - 32) {
      if (state.stream == item().stream_end) {
        state.finished = 1;
      } else {
        step(state);
      }
    }
    ptx::sync_warp();
    if (lane == 0) layout.search() = state;
  }

 private:
  /// What a lane found of a tile.
  struct Found {
    bool live;
    QueryVisit visit;
  };

  __device__ __forceinline__ const BackwardItem& item() const { return layout.item(); }

  __device__ __forceinline__ i32 batch_of(i32 stream) const {
    const Extents& x = params.extents;
    return x.kv_batches == 1 ? stream / x.group_heads : item().kv_batch;
  }
  __device__ __forceinline__ i32 head_of(i32 stream) const {
    const i32 group = params.extents.group_heads;
    return item().kv_head * group + stream % group;
  }

  /// 32 groups, or the 32 tiles of one, or the next stream.
  __device__ __forceinline__ void step(VisitSearch& state) const {
    if (state.group < 0 && state.live_groups == 0) {
      if (static_cast<i64>(state.next_block) * 1024 >= params.q_tiles ||
          live_end(state.stream) <= item().kv_begin) {
        ++state.stream;
        state.next_block = 0;
        state.opened = 0;
        return;
      }
      const i32 first = (state.next_block * 32 + static_cast<i32>(lane)) * 32;
      state.live_groups = ptx::ballot(class_of(state.stream, first, 32) != TileClass::kEmpty);
      ++state.next_block;
      return;
    }
    if (state.group < 0) {
      const u32 index = ptx::lowest_bit(state.live_groups);
      state.live_groups ^= 1u << index;
      state.group = (state.next_block - 1) * 32 + static_cast<i32>(index);
      state.round = 0;
    }
    const i32 place = state.group * 32 + static_cast<i32>(lane);
    Found found =
        params.lists.ranges != nullptr ? find_in_list(state, place) : find_by_mask(state, place);
    const u32 live = ptx::ballot(found.live);
    const u32 before = ptx::count_bits(live & ((1u << lane) - 1));
    if (state.opened == 0 && before == 0) found.visit.flags |= QueryVisit::kNewStream;
    if (found.live) layout.page()[state.visits + static_cast<i32>(before)] = found.visit;
    state.visits += static_cast<i32>(ptx::count_bits(live));
    state.opened |= live != 0 ? 1 : 0;
    const bool again = params.lists.ranges != nullptr && live != 0;
    state.round = again ? state.round + 1 : 0;
    if (!again) state.group = -1;
  }

  /// The tile that is visited `place`-th.
  __device__ __forceinline__ i32 tile_at(i32 place) const {
    if (Mods::kHasMaskMod || kOrdered || place >= params.q_tiles) return place;
    const i32 start = item().kv_begin / params.cut.tile_rows % params.q_tiles;
    return place < params.q_tiles - start ? place + start : place + start - params.q_tiles;
  }

  /// Behind the rows of tiles [tile, tile + count), as far as they exist.
  __device__ __forceinline__ i32 end_of(i32 tile, i32 count) const {
    return params.cut.end(min(tile + count, params.q_tiles) - 1, params.extents.query_rows);
  }

  /// The end of the item's keys that a stream has.
  __device__ __forceinline__ i32 live_end(i32 stream) const {
    return params.lengths.keys(batch_of(stream), item().kv_end);
  }

  /// Of the tiles [place, place + count), as far as they exist; by the mask alone.
  __device__ __forceinline__ TileClass class_of(i32 stream, i32 place, i32 count) const {
    if (place >= params.q_tiles) return TileClass::kEmpty;
    if constexpr (Mods::kHasMaskMod) {
      if (params.lists.ranges != nullptr) return TileClass::kFull;
      const Head head = Mods::head(bindings, batch_of(stream), head_of(stream));
      const i32 begin = params.cut.begin(place), end = end_of(place, count);
      return Mods::classify(bindings, head, Mods::band(bindings, head, begin, end),
                            {begin, end, item().kv_begin, live_end(stream)});
    } else {
      return TileClass::kFull;
    }
  }

  /// Visits of the keys [first, last) of the item by rows of which some are cut off, or none.
  __device__ __forceinline__ u32 flags_of(i32 tile, i32 first, i32 last, bool by_mask) const {
    const i32 begin = params.cut.begin(tile);
    const bool whole =
        first == 0 && last == kKeyTile && end_of(tile, 1) - begin == Layout::kQueryTile;
    return QueryVisit::keys(first, last) | (by_mask ? QueryVisit::kByMask : 0) |
           (by_mask || !whole ? QueryVisit::kMasked : 0);
  }

  __device__ __forceinline__ Found find_by_mask(const VisitSearch& state, i32 place) const {
    const TileClass found = class_of(state.stream, place, 1);
    if (found == TileClass::kEmpty) return {false, {}};
    const i32 tile = tile_at(place);
    const u32 flags =
        flags_of(tile, 0, live_end(state.stream) - item().kv_begin, found == TileClass::kPartial);
    return {true,
            {tile, index_of(state.stream), flags | QueryVisit::kWaits | QueryVisit::kPasses,
             turn_of(state.stream, tile)}};
  }

  __device__ __forceinline__ i32 index_of(i32 stream) const {
    return batch_of(stream) * params.extents.query_heads + head_of(stream);
  }

  __device__ __forceinline__ u32 turn_of(i32 stream, i32 tile) const {
    if constexpr (!kOrdered) {
      return 0;
    } else if constexpr (!Mods::kHasMaskMod) {
      return static_cast<u32>(item().kv_begin / kKeyTile);
    } else {
      const Head head = Mods::head(bindings, batch_of(stream), head_of(stream));
      return turn_by_mask<kKeyTile, Mods>(bindings, head, params.cut.begin(tile), end_of(tile, 1),
                                          item().kv_begin);
    }
  }

  __device__ __forceinline__ Found find_in_list(const VisitSearch& state, i32 place) const {
    if (place >= params.q_tiles) return {false, {}};
    const i32 tile = tile_at(place);
    const ListVisits visits = {params.lists,
                               list_of(params.lists, batch_of(state.stream), head_of(state.stream),
                                       params.cut.begin(tile)),
                               item().kv_begin, live_end(state.stream)};
    const ListVisit found = visits.find(state.round);
    if (!found.exists) return {false, {}};
    u32 flags = flags_of(tile, found.kv_begin - item().kv_begin, found.kv_end - item().kv_begin,
                         Mods::kHasMaskMod && !found.full);
    if (state.round == 0) flags |= QueryVisit::kWaits;
    if (found.last) flags |= QueryVisit::kPasses;
    return {true, {tile, index_of(state.stream), flags, kOrdered ? visits.turn<kKeyTile>() : 0}};
  }
};

}  // namespace tilewright::cuda
