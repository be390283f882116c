// score_mod and mask_mod on the scores of one warpgroup. A full tile never reaches the mask; a
// partial one is cut by key intervals where the mask has them, else pair by pair. The end of the
// keys is one more interval.
#pragma once

#include "attention/mods_contract.cuh"
#include "attention/work_item.cuh"
#include "ptx/numbers.cuh"
#include "tile/accumulator.cuh"
#include "tile/keep_words.cuh"

namespace tilewright::cuda {

/// What the mods need to know of an item, held while its tiles pass.
template <class Mods>
struct ModsOfItem {
  typename Mods::Head head;
  typename Mods::Row row[kRowsPerThread];
  i32 first_row;  ///< query position of row slot 0
  i32 kv_end;

  __device__ __forceinline__ void load(const typename Mods::Bindings& bindings,
                                       const WorkItem& item, i32 row_in_item) {
    head = Mods::head(bindings, item.batch, item.head);
    first_row = item.q_begin + row_in_item;
    kv_end = item.kv_end;
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      row[slot] = Mods::row(bindings, head, min(first_row + 8 * slot, item.q_end - 1));
    }
  }
};

/// The values of the diagonals that a thread's part of a tile meets. Row slot 1 lies 8 rows below
/// slot 0, so at a column it meets the diagonal that slot 0 met 8 columns before: entry 2 g + low
/// belongs to slot 1 in column group g and to slot 0 in group g - 1.
template <class Mods, int kColumns>
struct DiagonalValues {
  typename Mods::Diagonal value[kColumns / 4 + 2];

  __device__ __forceinline__ void load(const typename Mods::Bindings& bindings,
                                       const ModsOfItem<Mods>& item, FragmentLane lane,
                                       i32 kv_begin) {
    if constexpr (Mods::kHasScoreMod) {
      const i32 first = item.first_row + 8 - kv_begin - lane.first_column;
#pragma unroll
      for (int k = 0; k < kColumns / 4 + 2; ++k) {
        value[k] = Mods::diagonal(bindings, item.head, first - k / 2 * 8 - k % 2);
      }
    }
  }

  /// Of element e of an accumulator.
  __device__ __forceinline__ const typename Mods::Diagonal& at(int e) const {
    return value[e / 4 * 2 + e % 2 + (Accumulator<kColumns>::row_slot(e) == 0 ? 2 : 0)];
  }
};

/// Turns products of query and key into exponents of two: log2(e) * score_mod(scale * product) +
/// minus_reference of the row.
template <class Mods, int kColumns>
struct Exponents {
  using Score = Accumulator<kColumns>;
  const typename Mods::Bindings& bindings;
  const ModsOfItem<Mods>& item;
  const DiagonalValues<Mods, kColumns>& diagonal;
  float scale;
  float scale_log2;
  i32 first_key;  ///< position of the thread's first column

  __device__ __forceinline__ float operator()(int e, float product, float minus_reference) const {
    if constexpr (!Mods::kHasScoreMod) {
      return ptx::fused(product, scale_log2, minus_reference);
    } else {
      const int slot = Score::row_slot(e);
      const i32 i = item.first_row + 8 * slot;
      const i32 j = first_key + Score::column_offset(e);
      const typename Mods::Column column = Mods::column(bindings, item.head, j);
      const PairIndex pair = {i, j, first_key, static_cast<float>(Score::column_offset(e))};
      const ScoreSite<Mods> site = {product,         scale,          scale_log2,
                                    minus_reference, item.head,      item.row[slot],
                                    column,          diagonal.at(e), pair};
      return Mods::exponent(bindings, site);
    }
  }
};

/// The dead pairs of a partial tile. Keys outside the intervals of a row, where the mask has them;
/// the end of the keys is an interval too.
template <class Mods, int kColumns>
struct DeadPairs {
  using Score = Accumulator<kColumns>;
  static constexpr bool kHasPairs =
      Mods::kHasMaskMod && (Mods::kRowIntervals == 0 || Mods::kIntervalsMayFail);
  static constexpr bool kHasIntervals = Mods::kRowIntervals > 0;

  const typename Mods::Bindings& bindings;
  const ModsOfItem<Mods>& item;
  FragmentLane lane;
  i32 kv_begin;

  /// score := -inf there; whatever stood in its place is dropped.
  __device__ __forceinline__ void drop(Score& score) const {
    if constexpr (!kHasIntervals || !kHasPairs) {
      drop_unless<kHasIntervals, kHasPairs>(score);
    } else if (ptx::any(!intervals_hold(0) || !intervals_hold(1))) {
      drop_unless<false, true>(score);
    } else {
      drop_unless<true, false>(score);
    }
  }

 private:
  template <bool kByIntervals, bool kByPairs>
  __device__ __forceinline__ void drop_unless(Score& score) const {
    const float dead = ptx::float_of(0xff800000u);
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      const KeepWords<kColumns> keep = kept<kByIntervals>(slot);
#pragma unroll
      for (int e = 2 * slot; e < Score::kElements; e += e % 2 == 0 ? 1 : 3) {
        bool live = keep.keeps(Score::order_in_row(e));
        if constexpr (kByPairs) live = live && mask(slot, e);
        score.value[e] = live ? score.value[e] : dead;
      }
    }
  }

  __device__ __forceinline__ bool intervals_hold(int slot) const {
    return Mods::intervals_hold(bindings, item.head, item.row[slot], item.first_row + 8 * slot);
  }

  template <bool kByIntervals>
  __device__ __forceinline__ KeepWords<kColumns> kept(int slot) const {
    KeepWords<kColumns> keep;
    const i32 end = item.kv_end - kv_begin;
    if constexpr (kByIntervals) {
      const i32 i = item.first_row + 8 * slot;
#pragma unroll
      for (int n = 0; n < Mods::kRowIntervals; ++n) {
        const KeyInterval kept = Mods::interval(bindings, item.head, item.row[slot], i, n);
        keep.add(lane, kept.begin - kv_begin, min(kept.end - kv_begin, end));
      }
    } else {
      keep.add(lane, 0, end);
    }
    return keep;
  }

  __device__ __forceinline__ bool mask(int slot, int e) const {
    const i32 j = kv_begin + Score::column(lane, e);
    const typename Mods::Column column = Mods::column(bindings, item.head, j);
    const MaskSite<Mods> site = {item.head, item.row[slot], column, item.first_row + 8 * slot, j};
    return Mods::mask(bindings, site);
  }
};

}  // namespace tilewright::cuda
