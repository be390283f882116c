// Which key tiles an item visits. One warp finds up to a page of them at a time and leaves them in
// shared memory, so that nothing of the search stays in registers while tiles pass.
//
// Without lists: two levels of the mask's interval form, 32 groups of 32 tiles and then 32 tiles by
// one evaluation a lane. With lists: the tiles of the spans, up to 32 spans at once, each cut off
// at its end. Tiles come last first, because a mask that keeps recent keys (causal, ALiBi) then
// meets its largest scores at once and rescaling stays rare.
#pragma once

#include "attention/mods_contract.cuh"
#include "attention/portable_item.cuh"
#include "attention/portable_layout.cuh"
#include "ptx/lane.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods>
struct PortableSearch {
  using Layout = PortableLayout<Variant>;
  static constexpr i32 kKeyTile = Variant::kKeyTile;
  static constexpr bool kPacksGroup = Variant::kPacksGroup;
  using Head = typename Mods::Head;
  using Band = typename Mods::Band;
  /// Whether the rows of an item may lie in heads that the mask tells apart.
  static constexpr bool kHeadsDiffer = kPacksGroup && !__is_empty(Head);

  /// The head of the item's first row, or all heads where the mask does not tell them apart.
  struct FirstHead {
    Head head;
    Band band;
  };

  const PortableParams& params;
  const typename Mods::Bindings& bindings;
  const Layout& layout;
  const ItemRows<kPacksGroup>& rows;
  u32 lane;

  /// Called by one warp before the first fill.
  __device__ __forceinline__ void start() const {
    const i32 keys = rows.item.kv_end - rows.item.kv_begin;
    TileSearch state = {0, 0, (keys + 1024 * kKeyTile - 1) / (1024 * kKeyTile), 0, 0, 0, {0, 0}};
    if constexpr (Variant::kWalksLists) {
      const SpanRange range = params.lists.ranges[list()];
      state.spans_left = static_cast<i32>(range.last - range.first);
    }
    ptx::sync_warp();
    if (lane == 0) layout.search() = state;
    ptx::sync_warp();
  }

  /// Called by the same warp; fills the page as far as whole steps of 32 tiles fit.
  __device__ __forceinline__ void fill() const {
    TileSearch state = layout.search();
    state.notes = 0;
    if constexpr (Variant::kWalksLists) {
      const KeySpan* const spans = params.lists.spans + params.lists.ranges[list()].first;
      while (state.finished == 0 && state.notes <= Layout::kPageNotes - 32) {
        next_of_spans(state, spans);
      }
    } else {
      FirstHead first = {head_of(rows.at(rows.item.q_begin).head), {}};
      first.band = band_of(first.head);
      while (state.finished == 0 && state.notes <= Layout::kPageNotes - 32) {
        next_group(state, first);
      }
    }
    ptx::sync_warp();
    if (lane == 0) layout.search() = state;
  }

 private:
  __device__ __forceinline__ i64 list() const {
    const SpanLists& lists = params.lists;
    const QueryRow first = rows.at(rows.item.q_begin);
    const i64 b = lists.batches == 1 ? 0 : rows.item.batch;
    const i64 h = lists.heads == 1 ? 0 : first.head;
    return (b * lists.heads + h) * lists.q_blocks + first.position / lists.q_block_rows;
  }

  /// Appends the notes of the lanes in `live`, highest lane first.
  __device__ __forceinline__ void append(TileSearch& state, u32 live, KeyTileNote note) const {
    const u32 above = live >> lane >> 1;
    if ((live >> lane & 1) != 0) layout.page()[state.notes + ptx::count_bits(above)] = note;
    state.notes += static_cast<i32>(ptx::count_bits(live));
  }

  /// Of keys [begin, end) for one head of the item.
  __device__ __forceinline__ TileClass class_of_head(const Head& head, const Band& band, i32 begin,
                                                     i32 end) const {
    const i32 q_begin = rows.at(rows.item.q_begin).position;
    const i32 q_end = rows.at(rows.item.q_end - 1).position + 1;
    return Mods::classify(bindings, head, band, {q_begin, q_end, begin, end});
  }

  __device__ __forceinline__ Head head_of(i32 h) const {
    return Mods::head(bindings, rows.item.batch, h);
  }

  __device__ __forceinline__ Band band_of(const Head& head) const {
    return Mods::band(bindings, head, rows.at(rows.item.q_begin).position,
                      rows.at(rows.item.q_end - 1).position + 1);
  }

  /// Of keys [begin, end), for all rows and heads of the item.
  __device__ __forceinline__ TileClass class_of(const FirstHead& first, i32 begin, i32 end) const {
    if constexpr (!Mods::kHasMaskMod) {
      return TileClass::kFull;
    } else {
      TileClass result = class_of_head(first.head, first.band, begin, end);
      if constexpr (kHeadsDiffer) {
        const i32 first_head = rows.item.head * params.extents.group_heads;
        for (i32 h = first_head; h < first_head + params.extents.group_heads; ++h) {
          const Head head = head_of(h);
          if (class_of_head(head, band_of(head), begin, end) != result) {
            result = TileClass::kPartial;
          }
        }
      }
      return result;
    }
  }

  /// Of keys [from, from + count) of the item, as far as they exist.
  __device__ __forceinline__ TileClass class_of_part(const FirstHead& first, i64 from,
                                                     i32 count) const {
    const i64 begin = rows.item.kv_begin + from;
    if (begin >= rows.item.kv_end) return TileClass::kEmpty;
    const i64 end = begin + count < rows.item.kv_end ? begin + count : rows.item.kv_end;
    return class_of(first, static_cast<i32>(begin), static_cast<i32>(end));
  }

  __device__ __forceinline__ void next_group(TileSearch& state, const FirstHead& head) const {
    if (state.live_groups == 0) {
      if (state.next_block == 0) {
        state.finished = 1;
        return;
      }
      --state.next_block;
      const i64 first = static_cast<i64>(state.next_block * 32 + static_cast<i32>(lane));
      const TileClass found = class_of_part(head, first * 32 * kKeyTile, 32 * kKeyTile);
      state.live_groups = ptx::ballot(found != TileClass::kEmpty);
      return;
    }
    const u32 index = ptx::highest_bit(state.live_groups);
    state.live_groups ^= 1u << index;
    const i64 group = static_cast<i64>(state.next_block) * 32 + index;
    const i64 first = (group * 32 + lane) * kKeyTile;
    const TileClass found = class_of_part(head, first, kKeyTile);
    const u32 live = ptx::ballot(found != TileClass::kEmpty);
    const i32 begin = static_cast<i32>(rows.item.kv_begin + first);
    append(state, live, note_of(begin, rows.item.kv_end, found == TileClass::kPartial));
  }

  static __device__ __forceinline__ KeyTileNote note_of(i32 begin, i32 end, bool partial) {
    const u32 keys = static_cast<u32>(min(end - begin, kKeyTile));
    return {begin, keys | (partial ? KeyTileNote::kPartial : 0)};
  }

  /// Up to 32 tiles from the end of the list: of a span that has more, or of as many whole spans as
  /// 32 lanes and 32 notes hold.
  __device__ __forceinline__ void next_of_spans(TileSearch& state, const KeySpan* spans) const {
    if (state.spans_left == 0) {
      state.finished = 1;
      return;
    }
    const i32 index = state.spans_left - 1 - static_cast<i32>(lane);
    const KeySpan span = index >= 0 ? spans[index] : KeySpan{0, 0, 0, 0};
    const i32 begin = max(span.kv_begin, rows.item.kv_begin);
    const i32 end = min(span.kv_end, rows.item.kv_end);
    const u32 all = begin < end ? static_cast<u32>(end - begin + kKeyTile - 1) / kKeyTile : 0;
    // Tiles that earlier steps took of the first span lie behind its others.
    const ListedTiles mine = {begin, end, Mods::kHasMaskMod && span.full == 0,
                              all - (lane == 0 ? static_cast<u32>(state.span_tiles) : 0)};
    const u32 up_to_mine = prefix_sum(mine.count);
    const u32 taken = ptx::count_bits(ptx::ballot(index >= 0 && up_to_mine <= 32));
    if (taken == 0) {
      note_tiles(state.notes, mine, lane == 0 ? 32 : 0);
      state.notes += 32;
      state.span_tiles += 32;
      return;
    }
    note_tiles(state.notes + static_cast<i32>(up_to_mine - mine.count), mine,
               lane < taken ? mine.count : 0);
    state.notes += static_cast<i32>(ptx::broadcast(up_to_mine, taken - 1));
    state.spans_left -= static_cast<i32>(taken);
    state.span_tiles = 0;
  }

  /// The first `count` tiles of keys [begin, end).
  struct ListedTiles {
    i32 begin;
    i32 end;
    bool partial;
    u32 count;
  };

  /// Notes of the last `count` of them, last first.
  __device__ __forceinline__ void note_tiles(i32 at, const ListedTiles& tiles, u32 count) const {
    for (u32 n = 0; n < count; ++n) {
      const i32 first = tiles.begin + static_cast<i32>(tiles.count - 1 - n) * kKeyTile;
      layout.page()[at + static_cast<i32>(n)] = note_of(first, tiles.end, tiles.partial);
    }
  }

  /// The sum of `mine` over this lane and those before it.
  __device__ __forceinline__ u32 prefix_sum(u32 mine) const {
    u32 sum = mine;
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
      const u32 other = ptx::broadcast(sum, lane >= step ? lane - step : lane);
      sum += lane >= step ? other : 0;
    }
    return sum;
  }
};

}  // namespace tilewright::cuda
