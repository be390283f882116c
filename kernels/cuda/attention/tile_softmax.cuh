// From the products of a key tile to its probabilities: mods, mask, softmax.
#pragma once

#include "attention/apply_mods.cuh"
#include "attention/forward_layout.cuh"
#include "attention/forward_params.cuh"
#include "attention/online_softmax.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods>
struct TileSoftmax {
  static constexpr int kKeyTile = Variant::kKeyTile;
  /// The maximum is looked for among exponents, not among products: score_mod is not monotonic, nor
  /// is a negative scale.
  static constexpr bool kExponentsFirst = Mods::kHasScoreMod || Variant::kScalesFirst;

  const ForwardParams& params;
  const typename Mods::Bindings& bindings;
  FragmentLane lane;
  OnlineSoftmax<Variant> rows;
  float tile_sum[kRowsPerThread];  ///< of the latest tile, not yet in `rows`
  ModsOfItem<Mods> item;
  DiagonalValues<Mods, kKeyTile> diagonals;
  KeepWords<kKeyTile> live[kRowsPerThread];  ///< of a partial tile

  /// What mods read for a full tile, early enough that the loads end under the products.
  __device__ __forceinline__ void load_tile(TileNote tile) {
    diagonals.load(bindings, item, lane, tile.kv_begin);
  }

  /// Which pairs of a partial tile are kept. Scores do not decide that: it can be found out before
  /// they are there.
  __device__ __forceinline__ void find_live(TileNote tile) {
    if (!tile.partial()) return;
    SortedRuns<Mods, kKeyTile> runs;
    if (by_mask(tile)) runs.load(bindings, item.head, tile.kv_begin, kv_end(tile));
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) live[slot] = {};
    KeptPairs<Mods, kKeyTile>{bindings,      item,         runs,         lane,
                              tile.kv_begin, kv_end(tile), by_mask(tile)}
        .find(live);
  }

  __device__ __forceinline__ void add_tile_sum() { rows.add(tile_sum); }

  /// Whether every probability of the latest tile is in range, for the whole warp.
  __device__ __forceinline__ bool warp_in_range() const {
    return !ptx::any(!rows.in_range(tile_sum));
  }

  /// Any tile. True: the products before this tile must be multiplied by `factor`.
  __device__ __forceinline__ bool to_probabilities(Accumulator<kKeyTile>& score, TileNote tile,
                                                   float (&factor)[kRowsPerThread]) {
    if (!kExponentsFirst && tile.partial()) mask(score);
    const bool rescales = raise(score, tile, factor);
    exponentiate(score, tile, kExponentsFirst);
    return rescales;
  }

  /// Follows the maximum of the tile; where products do not tell it, `score` becomes exponents
  /// without a reference first.
  __device__ __forceinline__ bool raise(Accumulator<kKeyTile>& score, TileNote tile,
                                        float (&factor)[kRowsPerThread]) {
    if (!kExponentsFirst) return rows.raise(score, params.scale_log2, factor);
    const Exponents<Mods, kKeyTile, false> exponent = exponents<false>(tile);
#pragma unroll
    for (int e = 0; e < score.kElements; ++e) score.value[e] = exponent(e, score.value[e], 0.0f);
    if (tile.partial()) mask(score);
    return rows.raise(score, 1.0f, factor);
  }

  /// Probabilities of a tile without dead pairs, or of one whose exponents are there already.
  __device__ __forceinline__ void exponentiate(Accumulator<kKeyTile>& score, TileNote tile,
                                               bool has_exponents) {
    if (has_exponents) {
      rows.exponentiate(score, [](int, float x, float shift) { return x + shift; }, tile_sum);
      return;
    }
    if constexpr (Mods::kHasNear) {
      if (exponents<true>(tile).are_near(score)) {
        rows.exponentiate(score, exponents<true>(tile), tile_sum);
        return;
      }
    }
    rows.exponentiate(score, exponents<false>(tile), tile_sum);
  }

 private:
  /// score := -inf for dead pairs, after score_mod (semantics R3): whatever stood there is dropped.
  __device__ __forceinline__ void mask(Accumulator<kKeyTile>& score) const {
    const float dead = ptx::float_of(0xff800000u);
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
#pragma unroll
      for (int e = 2 * slot; e < score.kElements; e += e % 2 == 0 ? 1 : 3) {
        score.value[e] = live[slot].keeps(score.order_in_row(e)) ? score.value[e] : dead;
      }
    }
  }

  /// Of a partial tile: whether the mask decides pairs, beside the end of the keys.
  static __device__ __forceinline__ bool by_mask(TileNote tile) {
    return !Variant::kWalksLists || tile.by_mask();
  }
  __device__ __forceinline__ i32 kv_end(TileNote tile) const {
    return Variant::kWalksLists ? tile.listed_end() : item.kv_end;
  }

  template <bool kNear>
  __device__ __forceinline__ Exponents<Mods, kKeyTile, kNear> exponents(TileNote tile) const {
    return {bindings,          item,
            diagonals,         params.scale,
            params.scale_log2, tile.kv_begin + lane.first_column};
  }
};

}  // namespace tilewright::cuda
