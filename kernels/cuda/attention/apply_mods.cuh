// score_mod and mask_mod on the scores of one warpgroup. A full tile never reaches the mask; a
// partial one is cut by key intervals where the mask has them, else pair by pair. The end of the
// keys is one more interval.
#pragma once

#include "attention/mods_contract.cuh"
#include "attention/sorted_runs.cuh"
#include "attention/work_item.cuh"
#include "ptx/numbers.cuh"
#include "tile/accumulator.cuh"
#include "tile/keep_words.cuh"
#include "tile/warp_value.cuh"

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
  static constexpr int kCount = kColumns / 4 + 2;
  typename Mods::Diagonal value[kCount];

  __device__ __forceinline__ void load(const typename Mods::Bindings& bindings,
                                       const ModsOfItem<Mods>& item, FragmentLane lane,
                                       i32 kv_begin) {
    if constexpr (Mods::kHasScoreMod) {
      const i32 first = item.first_row + 8 - kv_begin - lane.first_column;
      if (load_run(bindings, item, first)) return;
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        value[k] = Mods::diagonal(bindings, item.head, first - back(k));
      }
    }
  }

  static constexpr __device__ int back(int k) { return k / 2 * 8 + k % 2; }

  /// Where the values lie side by side for the whole warp: a load each, without an address.
  __device__ __forceinline__ bool load_run(const typename Mods::Bindings& bindings,
                                           const ModsOfItem<Mods>& item, i32 first) {
    if constexpr (Mods::kDiagonalsRun) {
      typename Mods::DiagonalRun run;
      if (!ptx::any(!Mods::diagonal_run(bindings, item.head, first, back(kCount - 1), run))) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) value[k] = Mods::diagonal_in(run, back(k));
        return true;
      }
    }
    return false;
  }

  /// Of element e of an accumulator.
  __device__ __forceinline__ const typename Mods::Diagonal& at(int e) const {
    return value[e / 4 * 2 + e % 2 + (Accumulator<kColumns>::row_slot(e) == 0 ? 2 : 0)];
  }
};

/// Turns products of query and key into exponents of two: log2(e) * score_mod(scale * product) +
/// minus_reference of the row; kNear: by the form for scores of a limited size.
template <class Mods, int kColumns, bool kNear>
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
      return at_site(e, product, minus_reference, [&](const ScoreSite<Mods>& site) {
        if constexpr (kNear) {
          return Mods::exponent_near(bindings, site);
        } else {
          return Mods::exponent(bindings, site);
        }
      });
    }
  }

  /// For the whole warp: whether every score is of the limited size.
  __device__ __forceinline__ bool are_near(const Score& score) const {
    float chain[4] = {};
#pragma unroll
    for (int e = 0; e < Score::kElements; ++e) {
      const float reach = at_site(e, score.value[e], 0.0f, [&](const ScoreSite<Mods>& site) {
        return Mods::reach(bindings, site);
      });
      chain[e % 4] = ptx::larger(chain[e % 4], reach);
    }
    const float most =
        ptx::larger(ptx::larger(chain[0], chain[1]), ptx::larger(chain[2], chain[3]));
    return !ptx::any(most > Mods::kNearLimit);
  }

 private:
  template <class Use>
  __device__ __forceinline__ float at_site(int e, float product, float minus_reference,
                                           const Use& use) const {
    const int slot = Score::row_slot(e);
    const i32 i = item.first_row + 8 * slot;
    const i32 j = first_key + Score::column_offset(e);
    const typename Mods::Column column = Mods::column(bindings, item.head, j);
    const PairIndex pair = {i, j, first_key, static_cast<float>(Score::column_offset(e))};
    const ScoreSite<Mods> site = {product,         scale,          scale_log2,
                                  minus_reference, item.head,      item.row[slot],
                                  column,          diagonal.at(e), pair};
    return use(site);
  }
};

/// Values of the keys of a tile, each computed by one lane of the warp and handed to the lanes that
/// ask: lane (g, t) owns columns 2 t and 2 t + 1 of the 8-column groups g, g + 8, ...
template <class Mods, int kColumns>
struct WarpColumns {
  using Column = typename Mods::Column;
  Column own[(kColumns / 8 + 7) / 8 * 2];

  __device__ __forceinline__ void load(const typename Mods::Bindings& bindings,
                                       const typename Mods::Head& head, i32 kv_begin) {
    const i32 lane = static_cast<i32>(ptx::thread_in_block() % 32);
    const i32 first = kv_begin + lane / 4 * 8 + lane % 4 * 2;
#pragma unroll
    for (int k = 0; k < (kColumns / 8 + 7) / 8 * 2; ++k) {
      own[k] = Mods::column(bindings, head, first + k / 2 * 64 + k % 2);
    }
  }

  /// Of this lane's column in group `g` of the eight that own[slot] stands for; called by the whole
  /// warp.
  __device__ __forceinline__ Column at(int slot, int g) const {
    return value_of_lane(own[slot], static_cast<u32>(g) * 4 + ptx::thread_in_block() % 4);
  }
};

/// Which pairs of a partial tile are kept. Keys outside the intervals of a row, where the mask has
/// them, are not; the end of the keys is an interval too, and the only one where the mask is not
/// asked.
template <class Mods, int kColumns>
struct KeptPairs {
  using Keep = KeepWords<kColumns>;
  static constexpr bool kHasSorted = Mods::kSortedRuns > 0;
  static constexpr bool kHasIntervals = Mods::kRowIntervals > 0 || kHasSorted;
  static constexpr bool kHasPairs =
      Mods::kHasMaskMod && (!kHasIntervals || Mods::kIntervalsMayFail || kHasSorted);

  const typename Mods::Bindings& bindings;
  const ModsOfItem<Mods>& item;
  const SortedRuns<Mods, kColumns>& runs;  ///< of the tile
  FragmentLane lane;
  i32 kv_begin;
  i32 kv_end;
  bool by_mask;

  /// `live`: no bits set before.
  __device__ __forceinline__ void find(Keep (&live)[kRowsPerThread]) const {
    const bool hold = kHasIntervals && by_mask && intervals_hold();
    if constexpr (kHasIntervals) {
      if (hold) by_intervals(live);
    }
    if (hold) return;
    const bool asks = kHasPairs && by_mask;
    if constexpr (kHasPairs) {
      if (asks) by_pairs(live);
    }
    end_of_keys(live, asks);
  }

 private:
  /// For the whole warp.
  __device__ __forceinline__ bool intervals_hold() const {
    if constexpr (!kHasPairs) return true;
    bool fails = false;
    if constexpr (kHasSorted) fails = !runs.ascend();
    if constexpr (Mods::kIntervalsMayFail) {
#pragma unroll
      for (int slot = 0; slot < kRowsPerThread; ++slot) {
        fails |= !Mods::intervals_hold(bindings, item.head, item.row[slot], position(slot));
      }
    }
    return !ptx::any(fails);
  }

  __device__ __forceinline__ i32 position(int slot) const { return item.first_row + 8 * slot; }

  __device__ __forceinline__ void by_intervals(Keep (&live)[kRowsPerThread]) const {
    const i32 end = kv_end - kv_begin;
    [[maybe_unused]] KeyInterval found[kRowsPerThread][kHasSorted ? Mods::kSortedRuns : 1];
    if constexpr (kHasSorted) find_runs(found);
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      const auto add = [&](KeyInterval kept) {
        live[slot].add(lane, kept.begin - kv_begin, min(kept.end - kv_begin, end));
      };
      const typename Mods::Row& row = item.row[slot];
      if constexpr (kHasSorted) {
#pragma unroll
        for (int n = 0; n < Mods::kSortedIntervals; ++n) {
          add(Mods::sorted_interval(bindings, item.head, row, position(slot), n, found[slot]));
        }
      } else {
#pragma unroll
        for (int n = 0; n < Mods::kRowIntervals; ++n) {
          add(Mods::interval(bindings, item.head, row, position(slot), n));
        }
      }
    }
  }

  template <int kRuns>
  __device__ __forceinline__ void find_runs(KeyInterval (&found)[kRowsPerThread][kRuns]) const {
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      i64 value[kRowsPerThread];
      KeyInterval of_run[kRowsPerThread];
#pragma unroll
      for (int slot = 0; slot < kRowsPerThread; ++slot) {
        value[slot] = Mods::run_value(bindings, item.head, item.row[slot], position(slot), run);
      }
      runs.find(run, value, kv_begin, of_run);
#pragma unroll
      for (int slot = 0; slot < kRowsPerThread; ++slot) found[slot][run] = of_run[slot];
    }
  }

  /// Where the mask was not asked every key that exists is kept, else what is kept so far and
  /// exists.
  __device__ __forceinline__ void end_of_keys(Keep (&live)[kRowsPerThread], bool asked) const {
    Keep keep;
    keep.add(lane, 0, kv_end - kv_begin);
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
#pragma unroll
      for (int w = 0; w < Keep::kWords; ++w) {
        live[slot].word[w] = asked ? live[slot].word[w] & keep.word[w] : keep.word[w];
      }
    }
  }

  /// Asks the mask about every pair. A loop, not unrolled text: masks can be long, and only bits
  /// come out of it.
  __device__ __forceinline__ void by_pairs(Keep (&live)[kRowsPerThread]) const {
    constexpr int kGroups = kColumns / 8;
    WarpColumns<Mods, kColumns> columns;
    columns.load(bindings, item.head, kv_begin);
#pragma unroll
    for (int first = 0; first < kGroups; first += 8) {
#pragma unroll 2
      for (int g = 0; g < min(8, kGroups - first); ++g) {
#pragma unroll
        for (int low = 0; low < 2; ++low) {
          const typename Mods::Column column = columns.at(first / 8 * 2 + low, g);
          const i32 j = kv_begin + lane.first_column + 8 * (first + g) + low;
#pragma unroll
          for (int slot = 0; slot < kRowsPerThread; ++slot) {
            const MaskSite<Mods> site = {item.head, item.row[slot], column,
                                         item.first_row + 8 * slot, j};
            const u32 bit = Mods::mask(bindings, site) ? 1 : 0;
            live[slot].word[first / 16] |= bit << (first % 16 * 2 + 2 * g + low);
          }
        }
      }
    }
  }
};

}  // namespace tilewright::cuda
