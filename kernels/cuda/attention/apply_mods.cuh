// score_mod and mask_mod on the scores of one warpgroup. A full tile never reaches the mask; a partial one is cut by key intervals
// where the mask has them, else pair by pair. The end of the keys is one more interval.
#pragma once

#include "attention/mods_contract.cuh"
#include "attention/work_item.cuh"
#include "ptx/numbers.cuh"
#include "tile/accumulator.cuh"

namespace tilewright::cuda {

/// What the mods need to know of an item, held while its tiles pass.
template <class Mods>
struct ModsOfItem {
  typename Mods::Head head;
  typename Mods::Row row[kRowsPerThread];
  i32 first_row;  ///< query position of row slot 0
  i32 kv_end;

  __device__ __forceinline__ void load(const typename Mods::Bindings& bindings, const WorkItem& item,
                                       i32 row_in_item) {
    head = Mods::head(bindings, item.batch, item.head);
    first_row = item.q_begin + row_in_item;
    kv_end = item.kv_end;
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      row[slot] = Mods::row(bindings, head, min(first_row + 8 * slot, item.q_end - 1));
    }
  }
};

/// score := score_mod(score * scale) for every pair of the tile.
template <class Mods, int kColumns>
__device__ __forceinline__ void apply_score_mod(Accumulator<kColumns>& score, float scale,
                                                const typename Mods::Bindings& bindings,
                                                const ModsOfItem<Mods>& item, FragmentLane lane,
                                                i32 kv_begin) {
  using Score = Accumulator<kColumns>;
  const i32 first_key = kv_begin + lane.first_column;
  const float distance[kRowsPerThread] = {static_cast<float>(first_key - item.first_row),
                                          static_cast<float>(first_key - item.first_row - 8)};
#pragma unroll
  for (int e = 0; e < Score::kElements; e += e % 4 == 0 ? 1 : 3) {
    const int offset = Score::column_offset(e);
    const i32 j = first_key + offset;
    const typename Mods::Column column = Mods::column(bindings, item.head, j);
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      float& s = score.value[e + 2 * slot];
      const PairIndex pair = {item.first_row + 8 * slot, j, distance[slot],
                              static_cast<float>(offset)};
      s = Mods::score(bindings, s * scale, item.head, item.row[slot], column, pair);
    }
  }
}

/// Keep-bits of a row, one per element of the thread in column order.
template <int kColumns>
struct KeepWords {
  static constexpr int kWords = (kColumns / 4 + 31) / 32;
  u32 word[kWords] = {};

  /// Adds the keys [begin, end), relative to the tile.
  __device__ __forceinline__ void add(FragmentLane lane, i32 begin, i32 end) {
    const i32 first = Accumulator<kColumns>::columns_below(lane, begin);
    const i32 last = Accumulator<kColumns>::columns_below(lane, end);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      word[w] |= ptx::low_bits(max(last - 32 * w, 0)) & ~ptx::low_bits(max(first - 32 * w, 0));
    }
  }

  __device__ __forceinline__ bool keeps(int order) const {
    return (word[order / 32] & (1u << order % 32)) != 0;
  }
};

/// score := -inf at the dead pairs of a partial tile; whatever stood there is dropped.
template <class Mods, int kColumns>
__device__ __forceinline__ void apply_mask(Accumulator<kColumns>& score,
                                           const typename Mods::Bindings& bindings,
                                           const ModsOfItem<Mods>& item, FragmentLane lane,
                                           i32 kv_begin) {
  using Score = Accumulator<kColumns>;
  constexpr bool kByPair = Mods::kHasMaskMod && Mods::kRowIntervals == 0;
  const float dead = ptx::float_of(0xff800000u);
#pragma unroll
  for (int slot = 0; slot < kRowsPerThread; ++slot) {
    const i32 i = item.first_row + 8 * slot;
    KeepWords<kColumns> keep;
    if constexpr (Mods::kRowIntervals > 0) {
#pragma unroll
      for (int n = 0; n < Mods::kRowIntervals; ++n) {
        const KeyInterval kept = Mods::interval(bindings, item.head, item.row[slot], i, n);
        keep.add(lane, kept.begin - kv_begin, min(kept.end, item.kv_end) - kv_begin);
      }
    } else {
      keep.add(lane, 0, item.kv_end - kv_begin);
    }
#pragma unroll
    for (int e = 2 * slot; e < Score::kElements; e += e % 2 == 0 ? 1 : 3) {
      bool live = keep.keeps(Score::order_in_row(e));
      if constexpr (kByPair) {
        const i32 j = kv_begin + Score::column(lane, e);
        live = live && Mods::mask(bindings, item.head, item.row[slot],
                                  Mods::column(bindings, item.head, j), i, j);
      }
      score.value[e] = live ? score.value[e] : dead;
    }
  }
}

}  // namespace tilewright::cuda
