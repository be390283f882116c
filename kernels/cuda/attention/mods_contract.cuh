// What an emitted variant tells a kernel about score_mod and mask_mod, and the identity that keeps
// every pair unchanged. The contract is described in docs/kernels/hopper_forward.md; the emitter
// writes a struct with the members of IdentityMods.
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda {

enum class TileClass : i32 { kEmpty = 0, kPartial = 1, kFull = 2 };

/// A tile of pairs: query rows [q_begin, q_end) against keys [kv_begin, kv_end), logical positions,
/// never empty.
struct TileBounds {
  i32 q_begin;
  i32 q_end;
  i32 kv_begin;
  i32 kv_end;
};

/// Keys [begin, end) that a row keeps; begin >= end keeps none.
struct KeyInterval {
  i32 begin;
  i32 end;
};

/// A pair of positions as exponent() sees it: j is first_key + offset. first_key is the same for
/// all of a thread's scores of a tile and offset a constant once the loop over a tile is unrolled,
/// so that what is affine in j becomes a value per row and an immediate operand.
struct PairIndex {
  i32 i;
  i32 j;
  i32 first_key;
  float offset;
};

/// Everything a mask may look at.
template <class Mods>
struct MaskSite {
  const typename Mods::Head& head;
  const typename Mods::Row& row;
  const typename Mods::Column& column;
  i32 i;
  i32 j;
};

/// Everything a score_mod may look at, and the factors and the addend that it folds into its
/// expression.
template <class Mods>
struct ScoreSite {
  float product;          ///< <query[i], key[j]>, not scaled
  float scale;            ///< product * scale is the score
  float scale_log2;       ///< scale * log2(e)
  float minus_reference;  ///< to be added to the result
  const typename Mods::Head& head;
  const typename Mods::Row& row;
  const typename Mods::Column& column;
  const typename Mods::Diagonal& diagonal;
  PairIndex pair;
};

/// No score_mod, no mask_mod. An emitted struct has these members, and
///   - `float exponent(const Bindings&, const ScoreSite<Self>&)` if kHasScoreMod: log2(e) times
///   score_mod(scale * product), plus
///     minus_reference. Folding is what makes an affine score_mod cost one instruction a score.
///   - if kHasNear: `float reach(const Bindings&, const ScoreSite<Self>&)`, and `float
///   exponent_near(...)`, the same as exponent() where reach() is at most kNearLimit, but cheaper
///   - `bool mask(const Bindings&, const MaskSite<Self>&)` if kHasMaskMod, and kRowIntervals is 0
///   or kIntervalsMayFail
///   - `KeyInterval interval(const Bindings&, const Head&, const Row&, i32 i, int which)` if
///   kRowIntervals is not 0
///   - `bool intervals_hold(const Bindings&, const Head&, const Row&, i32 i)` if kIntervalsMayFail
///   - if kSortedRuns is not 0: `RunEntry`, an integer type; `RunEntry run_entry(const Bindings&,
///   const Head&, i32 j, int which)`, a table's entry at a key; `i64 run_value(const Bindings&,
///   const Head&, const Row&, i32 i, int which)`, what the row compares it with; `KeyInterval
///   sorted_interval(const Bindings&, const Head&, const Row&, i32 i, int which, const KeyInterval
///   (&runs)[kSortedRuns])`, given the keys of the tile whose entry equals the value; and mask()
///   - if kDiagonalsRun: `DiagonalRun`, a place in memory; `bool diagonal_run(const Bindings&,
///   const Head&, i32 first, i32 last, DiagonalRun&)`, whether what diagonal() reads for the
///   diagonals first, first - 1, ..., first - last lies there side by side; `Diagonal
///   diagonal_in(const DiagonalRun&, i32 back)`, that of diagonal first - back
struct IdentityMods {
  /// Captured tensors (64-bit bases) and numbers: the kernel's second parameter.
  struct Bindings {};
  /// Values that depend on batch and head only; computed once an item.
  struct Head {};
  /// Values that depend on the query row; computed once a row and item, held in registers.
  struct Row {};
  /// Values that depend on the key; computed once a column and tile.
  struct Column {};
  /// What classify() needs to know of an item's query rows; computed once an item.
  struct Band {};
  /// Values that depend on i - j; computed once a diagonal of a thread's part of a tile, while the
  /// scores are in the making.
  struct Diagonal {};

  static constexpr bool kHasScoreMod = false;
  /// Whether score_mod has a cheaper form for scores of a limited size.
  static constexpr bool kHasNear = false;
  static constexpr bool kHasMaskMod = false;
  /// Number of key intervals whose union is what a row keeps; 0 where the mask has no such form and
  /// mask() decides each pair.
  static constexpr int kRowIntervals = 0;
  /// Whether numbers or tables decide, row by row, if the intervals say what the mask says.
  static constexpr bool kIntervalsMayFail = false;
  /// Tables that a mask compares with values of the row. In a tile in which they ascend, a row
  /// keeps the union of kSortedIntervals intervals; kRowIntervals is 0 then.
  static constexpr int kSortedRuns = 0;
  static constexpr int kSortedIntervals = 0;

  /// Whether the values of neighbouring diagonals lie side by side in memory: see above.
  static constexpr bool kDiagonalsRun = false;

  static __device__ __forceinline__ Head head(const Bindings&, i32 /*b*/, i32 /*h*/) { return {}; }
  static __device__ __forceinline__ Row row(const Bindings&, const Head&, i32 /*i*/) { return {}; }
  static __device__ __forceinline__ Column column(const Bindings&, const Head&, i32 /*j*/) {
    return {};
  }
  static __device__ __forceinline__ Diagonal diagonal(const Bindings&, const Head&,
                                                      i32 /*i_minus_j*/) {
    return {};
  }

  /// Query rows [q_begin, q_end), not empty.
  static __device__ __forceinline__ Band band(const Bindings&, const Head&, i32 /*q_begin*/,
                                              i32 /*q_end*/) {
    return {};
  }
  /// Empty and full are promises; partial is always right. The rows are those of the band.
  static __device__ __forceinline__ TileClass classify(const Bindings&, const Head&, const Band&,
                                                       const TileBounds&) {
    return TileClass::kFull;
  }
};

}  // namespace tilewright::cuda
