// From the products of a key tile to probabilities, for the strips of one warp: mods, mask,
// softmax. A full tile may first try the reference that is there (online_softmax.cuh): the tile's
// row sums, needed anyway, tell whether that was in range. A warp decides that alone, because its
// matrix instructions are its own.
#pragma once

#include "attention/online_softmax.cuh"
#include "attention/portable_mods.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods>
struct PortableSoftmax {
  static constexpr int kStrips = Variant::kStrips;
  static constexpr int kKeyTile = Variant::kKeyTile;
  static constexpr bool kPacksGroup = Variant::kPacksGroup;
  /// The maximum is looked for among exponents, not among products: score_mod is not monotonic, nor
  /// is a negative scale.
  static constexpr bool kExponentsFirst = Mods::kHasScoreMod || Variant::kScalesFirst;
  using Score = Accumulator<kKeyTile>;
  using Pairs = StripPairs<Mods, Variant>;

  const typename Mods::Bindings& bindings;
  float scale;
  float scale_log2;
  FragmentLane lane;
  OnlineSoftmax<Variant> rows[kStrips];
  RowSites<Mods, kStrips, kPacksGroup> sites;
  ColumnValues<Mods, kKeyTile, kPacksGroup> columns;

  __device__ __forceinline__ void start(const ItemRows<kPacksGroup>& item, i32 first_row) {
#pragma unroll
    for (int s = 0; s < kStrips; ++s) rows[s].reset();
    sites.load(bindings, item, first_row);
  }

  __device__ __forceinline__ void load_columns(KeyTileNote tile) {
    if (Mods::kHasScoreMod || tile.partial()) {
      columns.load(bindings, sites, tile.kv_begin + lane.first_column);
    }
  }

  /// Whether nothing in the tile is masked.
  static __device__ __forceinline__ bool is_whole(KeyTileNote tile) {
    return tile.keys_and_class == kKeyTile;
  }

  /// score := probabilities by the references that are there. False: some left their range, or are
  /// NaN, and the tile must be done again with its maximum; nothing has been added to the sums.
  __device__ __forceinline__ bool try_reference(Score (&score)[kStrips], KeyTileNote tile) {
    float tile_sum[kStrips][kRowsPerThread];
    bool in_range = true;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      const Pairs of = pairs(s, tile);
      rows[s].exponentiate(score[s], of, tile_sum[s]);
      in_range = in_range && rows[s].in_range(tile_sum[s]);
    }
    if (ptx::any(!in_range)) return false;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) rows[s].add(tile_sum[s]);
    return true;
  }

  /// score[strip] := probabilities, any tile. True: the products before this tile must be
  /// multiplied by `factor`.
  __device__ __forceinline__ bool follow_maximum(Score& score, int strip, KeyTileNote tile,
                                                 float (&factor)[kRowsPerThread]) {
    const Pairs of = pairs(strip, tile);
    if constexpr (kExponentsFirst) {
#pragma unroll
      for (int e = 0; e < Score::kElements; ++e) score.value[e] = of(e, score.value[e], 0.0f);
    }
    if (!is_whole(tile)) of.drop_dead(score);
    const bool rescales = rows[strip].raise(score, kExponentsFirst ? 1.0f : scale_log2, factor);
    float tile_sum[kRowsPerThread];
    if constexpr (kExponentsFirst) {
      rows[strip].exponentiate(
          score, [](int, float x, float shift) { return x + shift; }, tile_sum);
    } else {
      rows[strip].exponentiate(score, of, tile_sum);
    }
    rows[strip].add(tile_sum);
    return rescales;
  }

 private:
  __device__ __forceinline__ Pairs pairs(int strip, KeyTileNote tile) const {
    Pairs of = {bindings, sites, columns, {}, strip, scale, scale_log2, lane, tile};
    of.load_diagonals();
    return of;
  }
};

}  // namespace tilewright::cuda
