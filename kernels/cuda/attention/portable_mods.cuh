// score_mod and mask_mod for the strips of one warp: like apply_mods.cuh, but with rows that may
// belong to different query heads, and with what depends on the key alone taken once for all rows.
#pragma once

#include "attention/mods_contract.cuh"
#include "attention/portable_item.cuh"
#include "attention/portable_layout.cuh"
#include "tile/keep_words.cuh"

namespace tilewright::cuda {

/// What the mods need to know of a warp's rows; row k = 2 strip + slot of a thread.
template <class Mods, int kStrips, bool kPacksGroup>
struct RowSites {
  static constexpr int kRows = kRowsPerThread * kStrips;
  static constexpr int kHeads = kPacksGroup ? kRows : 1;
  typename Mods::Head head[kHeads];
  typename Mods::Row row[kRows];
  i32 positions[kHeads];

  /// `first_row` is the row of strip 0, slot 0. Rows past the item's end have the values of its
  /// last one.
  __device__ __forceinline__ void load(const typename Mods::Bindings& bindings,
                                       const ItemRows<kPacksGroup>& rows, i32 first_row) {
    if constexpr (!kPacksGroup) {
      head[0] = Mods::head(bindings, rows.item.batch, rows.item.head);
      positions[0] = first_row;
    }
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const QueryRow at = rows.at(min(first_row + row_offset(k), rows.item.q_end - 1));
      if constexpr (kPacksGroup) {
        head[k] = Mods::head(bindings, rows.item.batch, at.head);
        positions[k] = at.position;
      }
      row[k] = Mods::row(bindings, head_of(k), at.position);
    }
  }

  static constexpr __device__ int row_offset(int k) { return k / 2 * 16 + k % 2 * 8; }

  __device__ __forceinline__ i32 position(int k) const {
    return kPacksGroup ? positions[kPacksGroup ? k : 0] : positions[0] + row_offset(k);
  }
  __device__ __forceinline__ const typename Mods::Head& head_of(int k) const {
    return head[kPacksGroup ? k : 0];
  }
};

/// Values of the keys that a thread's columns meet. Rows of different heads have none in common;
/// their values are taken where they are used.
template <class Mods, int kColumns, bool kPacksGroup>
struct ColumnValues {
  static constexpr int kCount = kPacksGroup ? 1 : kColumns / 4;
  typename Mods::Column value[kCount];

  template <class Sites>
  __device__ __forceinline__ void load(const typename Mods::Bindings& bindings, const Sites& sites,
                                       i32 first_key) {
    if constexpr (!kPacksGroup) {
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        value[c] = Mods::column(bindings, sites.head_of(0), first_key + c / 2 * 8 + c % 2);
      }
    }
  }

  /// Of element e, whose head and key are given.
  __device__ __forceinline__ typename Mods::Column at(const typename Mods::Bindings& bindings,
                                                      const typename Mods::Head& head, i32 key,
                                                      int e) const {
    if constexpr (kPacksGroup) {
      return Mods::column(bindings, head, key);
    } else {
      return value[Accumulator<kColumns>::order_in_row(e)];
    }
  }
};

/// Values of the diagonals that a strip meets. Slot 1 lies 8 rows below slot 0, so at a column it
/// meets the diagonal that slot 0 met 8 columns before, unless rows are packed.
template <class Mods, int kColumns, bool kPacksGroup>
struct StripDiagonals {
  static constexpr int kCount = kPacksGroup ? 1 : kColumns / 4 + 2;
  typename Mods::Diagonal value[kCount];

  __device__ __forceinline__ void load(const typename Mods::Bindings& bindings,
                                       const typename Mods::Head& head, i32 i_minus_j) {
    if constexpr (Mods::kHasScoreMod && !kPacksGroup) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        value[k] = Mods::diagonal(bindings, head, i_minus_j + 8 - k / 2 * 8 - k % 2);
      }
    }
  }

  __device__ __forceinline__ typename Mods::Diagonal at(const typename Mods::Bindings& bindings,
                                                        const typename Mods::Head& head,
                                                        i32 i_minus_j, int e) const {
    if constexpr (kPacksGroup) {
      return Mods::diagonal(bindings, head, i_minus_j);
    } else {
      return value[e / 4 * 2 + e % 2 + (Accumulator<kColumns>::row_slot(e) == 0 ? 2 : 0)];
    }
  }
};

/// The pairs of one strip and one key tile, as the mods see them.
template <class Mods, class Variant>
struct StripPairs {
  static constexpr int kColumns = Variant::kKeyTile;
  static constexpr bool kPacksGroup = Variant::kPacksGroup;
  using Score = Accumulator<kColumns>;
  using Sites = RowSites<Mods, Variant::kStrips, kPacksGroup>;

  const typename Mods::Bindings& bindings;
  const Sites& sites;
  const ColumnValues<Mods, kColumns, kPacksGroup>& columns;
  StripDiagonals<Mods, kColumns, kPacksGroup> diagonals;
  int strip;
  float scale;
  float scale_log2;
  FragmentLane lane;
  KeyTileNote tile;

  __device__ __forceinline__ i32 first_key() const { return tile.kv_begin + lane.first_column; }

  __device__ __forceinline__ void load_diagonals() {
    const int k = kRowsPerThread * strip;
    diagonals.load(bindings, sites.head_of(k), sites.position(k) - first_key());
  }

  /// log2(e) * score_mod(scale * product) + minus_reference of element e.
  __device__ __forceinline__ float operator()(int e, float product, float minus_reference) const {
    if constexpr (!Mods::kHasScoreMod) {
      return ptx::fused(product, scale_log2, minus_reference);
    } else {
      const int k = kRowsPerThread * strip + Score::row_slot(e);
      const i32 i = sites.position(k);
      const i32 j = first_key() + Score::column_offset(e);
      const typename Mods::Head& head = sites.head_of(k);
      const typename Mods::Column column = columns.at(bindings, head, j, e);
      const typename Mods::Diagonal diagonal = diagonals.at(bindings, head, i - j, e);
      const PairIndex pair = {i, j, first_key(), static_cast<float>(Score::column_offset(e))};
      const ScoreSite<Mods> site = {
          product, scale, scale_log2, minus_reference, head, sites.row[k], column, diagonal, pair};
      return Mods::exponent(bindings, site);
    }
  }

  /// score := -inf at the dead pairs; whatever stood there is dropped (semantics R3).
  __device__ __forceinline__ void drop_dead(Score& score) const {
    if (!Mods::kHasMaskMod || !tile.partial()) {
      drop_unless<false, false>(score);
    } else if constexpr (!kHasIntervals || !kHasPairs) {
      drop_unless<kHasIntervals, kHasPairs>(score);
    } else if (ptx::any(!intervals_hold(0) || !intervals_hold(1))) {
      drop_unless<false, true>(score);
    } else {
      drop_unless<true, false>(score);
    }
  }

 private:
  static constexpr bool kHasIntervals = Mods::kRowIntervals > 0;
  static constexpr bool kHasPairs =
      Mods::kHasMaskMod && (!kHasIntervals || Mods::kIntervalsMayFail);

  __device__ __forceinline__ bool intervals_hold(int slot) const {
    const int k = kRowsPerThread * strip + slot;
    return Mods::intervals_hold(bindings, sites.head_of(k), sites.row[k], sites.position(k));
  }

  template <bool kByIntervals, bool kByPairs>
  __device__ __forceinline__ void drop_unless(Score& score) const {
    const float dead = ptx::float_of(0xff800000u);
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      const int k = kRowsPerThread * strip + slot;
      const KeepWords<kColumns> keep = kept<kByIntervals>(k);
#pragma unroll
      for (int e = 2 * slot; e < Score::kElements; e += e % 2 == 0 ? 1 : 3) {
        bool live = keep.keeps(Score::order_in_row(e));
        if constexpr (kByPairs) live = live && pair_is_live(k, e);
        score.value[e] = live ? score.value[e] : dead;
      }
    }
  }

  /// Keys of the tile that row k keeps: those that exist, and are in an interval if intervals
  /// count.
  template <bool kByIntervals>
  __device__ __forceinline__ KeepWords<kColumns> kept(int k) const {
    KeepWords<kColumns> keep;
    if constexpr (kByIntervals) {
      // Else the ends of all rows' intervals would stay in registers from tile to tile.
      const i32 i = static_cast<i32>(ptx::forgotten(static_cast<u32>(sites.position(k))));
#pragma unroll
      for (int n = 0; n < Mods::kRowIntervals; ++n) {
        const KeyInterval in = Mods::interval(bindings, sites.head_of(k), sites.row[k], i, n);
        const i32 end = min(in.end, tile.kv_begin + tile.keys());
        keep.add(lane, max(in.begin, tile.kv_begin) - tile.kv_begin, end - tile.kv_begin);
      }
    } else {
      keep.add(lane, 0, tile.keys());
    }
    return keep;
  }

  __device__ __forceinline__ bool pair_is_live(int k, int e) const {
    const i32 j = first_key() + Score::column_offset(e);
    const typename Mods::Head& head = sites.head_of(k);
    const typename Mods::Column column = columns.at(bindings, head, j, e);
    return Mods::mask(bindings, MaskSite<Mods>{head, sites.row[k], column, sites.position(k), j});
  }
};

}  // namespace tilewright::cuda
