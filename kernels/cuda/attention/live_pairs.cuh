// Which pairs of a partial tile are live, for a transposed fragment: rows are keys, columns are
// queries.
#pragma once

#include "attention/backward_mods_contract.cuh"
#include "attention/key_words.cuh"
#include "tile/keep_words.cuh"

namespace tilewright::cuda {

/// What the mods need to know of a stream and of the thread's two keys, held while tiles pass.
template <class Mods>
struct KeysOfThread {
  typename Mods::Head head;
  typename Mods::Column column[kRowsPerThread];
  i32 first_key;  ///< position of row slot 0; slot 1 lies 8 below
  i32 q_rows;

  __device__ __forceinline__ void load(const typename Mods::Bindings& bindings, i32 batch,
                                       i32 query_head, i32 kv_end) {
    head = Mods::head(bindings, batch, query_head);
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      column[slot] = Mods::column(bindings, head, min(first_key + 8 * slot, kv_end - 1));
    }
  }

  /// Rows past the last read what the last one has.
  __device__ __forceinline__ typename Mods::Row row(const typename Mods::Bindings& bindings,
                                                    i32 i) const {
    return Mods::row(bindings, head, min(i, q_rows - 1));
  }
};

/// Keys outside of which no pair of a tile is live, and whether the mask decides the others.
struct LiveBounds {
  i32 kv_begin;
  i32 kv_end;
  bool asks_mask;

  __device__ __forceinline__ bool has(i32 j) const {
    return static_cast<u32>(j - kv_begin) < static_cast<u32>(kv_end - kv_begin);
  }
  __device__ __forceinline__ bool by_mask(i32) const { return asks_mask; }
  /// 1 where the mask is not asked for a key although it is for others.
  __device__ __forceinline__ u32 is_unmasked(i32) const { return 0; }
};

/// The same by words, a bit a key.
struct LiveKeys {
  static constexpr bool asks_mask = true;
  const KeyWords& words;
  i32 kv_begin;

  __device__ __forceinline__ bool has(i32 j) const { return words.visits(j - kv_begin); }
  __device__ __forceinline__ bool by_mask(i32 j) const { return is_unmasked(j) == 0; }
  __device__ __forceinline__ u32 is_unmasked(i32 j) const {
    return words.is_unmasked(j - kv_begin);
  }
};

template <class Mods, class Gradient, int kColumns>
struct LivePairs {
  using Score = Accumulator<kColumns>;
  static_assert(KeepWords<kColumns>::kWords == 1);

  KeepWords<kColumns> keep[kRowsPerThread];

  /// Of a tile whose first column, as the warpgroup sees it, is query q_begin. Bounds: LiveBounds
  /// or LiveKeys.
  template <class Bounds>
  __device__ __forceinline__ void find(const typename Mods::Bindings& bindings,
                                       const KeysOfThread<Mods>& keys, FragmentLane lane,
                                       i32 q_begin, const Bounds& bounds) {
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      const i32 j = keys.first_key + 8 * slot;
      keep[slot] = {};
      const i32 last = bounds.has(j) ? keys.q_rows - q_begin : 0;
      if constexpr (Gradient::kQueryIntervals == 0) {
        keep[slot].add(lane, 0, last);
      } else if (bounds.by_mask(j)) {
        add_intervals(bindings, keys, lane, slot, {q_begin, last});
      } else {
        keep[slot].add(lane, 0, last);
      }
    }
    if constexpr (Mods::kHasMaskMod && Gradient::kQueryIntervals == 0) {
      if (bounds.asks_mask) keep_seen(bindings, keys, q_begin + lane.first_column, bounds);
    }
  }

  __device__ __forceinline__ bool at(int e) const {
    return keep[Score::row_slot(e)].keeps(Score::order_in_row(e));
  }

 private:
  /// Rows of a fragment: the first one's position, and how many exist.
  struct FragmentQueries {
    i32 q_begin;
    i32 count;
  };

  __device__ __forceinline__ void add_intervals(const typename Mods::Bindings& bindings,
                                                const KeysOfThread<Mods>& keys, FragmentLane lane,
                                                int slot, FragmentQueries rows) {
    const i32 j = keys.first_key + 8 * slot;
#pragma unroll
    for (int n = 0; n < Gradient::kQueryIntervals; ++n) {
      const QueryInterval seen = Gradient::interval(bindings, keys.head, keys.column[slot], j, n);
      keep[slot].add(lane, seen.begin - rows.q_begin, min(seen.end - rows.q_begin, rows.count));
    }
  }

  /// Drops what the mask of each row does not keep.
  template <class Bounds>
  __device__ __forceinline__ void keep_seen(const typename Mods::Bindings& bindings,
                                            const KeysOfThread<Mods>& keys, i32 first_row,
                                            const Bounds& bounds) {
    const u32 unmasked[kRowsPerThread] = {bounds.is_unmasked(keys.first_key),
                                          bounds.is_unmasked(keys.first_key + 8)};
#pragma unroll
    for (int order = 0; order < kColumns / 4; ++order) {
      const i32 i = first_row + order / 2 * 8 + order % 2;
      const typename Mods::Row row = keys.row(bindings, i);
      u32 seen[kRowsPerThread];
      seen_by(bindings, keys, row, i, seen);
#pragma unroll
      for (int slot = 0; slot < kRowsPerThread; ++slot) {
        keep[slot].word[0] &= ~(((seen[slot] | unmasked[slot]) ^ 1u) << order);
      }
    }
  }

  /// 1 or 0 for each of the thread's keys.
  static __device__ __forceinline__ void seen_by(const typename Mods::Bindings& bindings,
                                                 const KeysOfThread<Mods>& keys,
                                                 const typename Mods::Row& row, i32 i,
                                                 u32 (&seen)[kRowsPerThread]) {
    if constexpr (Mods::kRowIntervals == 0) {
      ask_pairs(bindings, keys, row, i, seen);
    } else if constexpr (!Mods::kIntervalsMayFail) {
      ask_intervals(bindings, keys, row, i, seen);
    } else if (Mods::intervals_hold(bindings, keys.head, row, i)) {
      ask_intervals(bindings, keys, row, i, seen);
    } else {
      ask_pairs(bindings, keys, row, i, seen);
    }
  }

  static __device__ __forceinline__ void ask_intervals(const typename Mods::Bindings& bindings,
                                                       const KeysOfThread<Mods>& keys,
                                                       const typename Mods::Row& row, i32 i,
                                                       u32 (&seen)[kRowsPerThread]) {
    seen[0] = seen[1] = 0;
#pragma unroll
    for (int n = 0; n < Mods::kRowIntervals; ++n) {
      const KeyInterval kept = Mods::interval(bindings, keys.head, row, i, n);
#pragma unroll
      for (int slot = 0; slot < kRowsPerThread; ++slot) {
        const i32 j = keys.first_key + 8 * slot;
        seen[slot] |= j >= kept.begin && j < kept.end ? 1u : 0u;
      }
    }
  }

  static __device__ __forceinline__ void ask_pairs(const typename Mods::Bindings& bindings,
                                                   const KeysOfThread<Mods>& keys,
                                                   const typename Mods::Row& row, i32 i,
                                                   u32 (&seen)[kRowsPerThread]) {
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      const MaskSite<Mods> site = {keys.head, row, keys.column[slot], i, keys.first_key + 8 * slot};
      seen[slot] = Mods::mask(bindings, site) ? 1u : 0u;
    }
  }
};

}  // namespace tilewright::cuda
