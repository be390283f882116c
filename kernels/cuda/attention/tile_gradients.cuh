// From S^T and dP^T of a tile to P^T and dS^T: mods, masks, softmax and its derivative, on
// fragments whose rows are keys and whose columns are queries.
//
//   P = 2^(log2(e) T - lse log2(e)), dT = P (dP - delta), dS = dT dT/dS; 0 by selection where dead.
#pragma once

#include "attention/backward_item.cuh"
#include "attention/live_pairs.cuh"
#include "ptx/vector_memory.cuh"

namespace tilewright::cuda {

/// What both backward families share. A Shape has kScoreColumns, the columns of a fragment, and
/// says where the part of a tile that a fragment holds begins: first_key_row(part),
/// first_query(part); kNumbersAhead is how many groups of 8 columns have their queries' numbers
/// loaded before the first is used: matrix instructions of others keep shared memory busy, a load
/// takes long. A Site is a tile as its arithmetic sees it: q_begin(), bounds(), partial(),
/// and the queries' numbers in shared memory, minus_lse and delta. Params have extents, scale and
/// scale_log2.
template <class Shape, class Params, class Site, class Mods, class Gradient>
struct TileGradients {
  static constexpr int kColumns = Shape::kScoreColumns;
  using Score = Accumulator<kColumns>;
  using Live = LivePairs<Mods, Gradient, kColumns>;
  /// The derivative of score_mod looks at the score, which P would overwrite.
  static constexpr bool kNeedsScore = Gradient::kHasScoreGradient;

  const Params& params;
  const typename Mods::Bindings& bindings;
  FragmentLane lane;
  u32 part;
  KeysOfThread<Mods> keys;

  __device__ __forceinline__ void start_item(const BackwardItem& item) {
    keys.first_key = item.kv_begin + Shape::first_key_row(part) + lane.first_row;
    keys.q_rows = params.extents.query_rows;
  }

  /// Before the first tile of a stream, which has keys of the item up to kv_end.
  __device__ __forceinline__ void start_stream(i32 stream, i32 kv_end) {
    const i32 batch = stream / params.extents.query_heads;
    keys.load(bindings, batch, stream - batch * params.extents.query_heads, kv_end);
  }

  /// score := P^T. Not for variants that need the score.
  template <bool kMasked>
  __device__ __forceinline__ void to_probabilities(Score& score, const Site& tile) const {
    exponentiate<kMasked>(score, tile, first_numbers(tile.minus_lse));
  }

  /// d_probability := dS^T, given P^T; where the score is needed score := P^T too, given S^T.
  template <bool kMasked>
  __device__ __forceinline__ void to_gradients(Score& score, Score& d_probability,
                                               const Site& tile) const {
    if constexpr (kNeedsScore) {
      differentiate<kMasked>(score, d_probability, tile);
    } else {
      subtract<kMasked>(score, d_probability, tile.delta, first_numbers(tile.delta));
    }
  }

  static constexpr int kAhead = Shape::kNumbersAhead;
  /// Numbers of the thread's columns in groups g to g + kAhead - 1.
  struct Numbers {
    ptx::Floats2 pair[kAhead];
  };
  /// Those of the first groups: for a caller that has something to wait for meanwhile.
  __device__ __forceinline__ Numbers first_numbers(ptx::SharedAddress row) const {
    Numbers numbers;
    load(row, 0, numbers);
    return numbers;
  }

  /// The same where the caller holds the first of minus_lse, of delta (not read where the score is
  /// needed).
  template <bool kMasked>
  __device__ __forceinline__ void to_probabilities(Score& score, const Site& tile,
                                                   const Numbers& minus_lse) const {
    exponentiate<kMasked>(score, tile, minus_lse);
  }
  template <bool kMasked>
  __device__ __forceinline__ void to_gradients(Score& score, Score& d_probability, const Site& tile,
                                               const Numbers& delta) const {
    if constexpr (kNeedsScore) {
      differentiate<kMasked>(score, d_probability, tile);
    } else {
      subtract<kMasked>(score, d_probability, tile.delta, delta);
    }
  }

 private:
  /// The query of the fragment's first column.
  __device__ __forceinline__ i32 first_row(const Site& tile) const {
    return tile.q_begin() + Shape::first_query(part);
  }

  /// The thread's two columns of group g in a row of fp32 values, one per query of the tile.
  __device__ __forceinline__ ptx::Floats2 columns(ptx::SharedAddress row, int g) const {
    return ptx::load_shared_pair(
        row + static_cast<u32>(4 * (Shape::first_query(part) + lane.first_column + 8 * g)));
  }

  /// Of group g and those that follow.
  __device__ __forceinline__ void load(ptx::SharedAddress row, int g, Numbers& to) const {
#pragma unroll
    for (int n = 0; n < kAhead; ++n) to.pair[n] = columns(row, g + n);
  }
  /// The first ones are there; later ones when the last are used up.
  __device__ __forceinline__ void load_ahead(ptx::SharedAddress row, int g, Numbers& to) const {
    if (g > 0 && g % kAhead == 0) load(row, g, to);
  }

  template <bool kMasked>
  __device__ __forceinline__ void exponentiate(Score& score, const Site& tile,
                                               Numbers numbers) const {
    const float dead = ptx::float_of(0xff800000u);
    Live live;
    if (kMasked) live.find(bindings, keys, lane, first_row(tile), tile.bounds());
    typename Mods::Diagonal above[2];
    start_diagonals(tile, above);
#pragma unroll
    for (int g = 0; g < kColumns / 8; ++g) {
      load_ahead(tile.minus_lse, g, numbers);
      const ptx::Floats2 pair = numbers.pair[g % kAhead];
#pragma unroll
      for (int low = 0; low < 2; ++low) {
        const Query at = query(tile, g, low, low == 0 ? pair.x : pair.y, above[low]);
#pragma unroll
        for (int slot = 0; slot < kRowsPerThread; ++slot) {
          const int e = 4 * g + 2 * slot + low;
          float x = exponent(at, slot, score.value[e]);
          if (kMasked) x = live.at(e) ? x : dead;
          score.value[e] = ptx::exp2_fast(x);
        }
        above[low] = at.diagonal[0];
      }
    }
  }

  /// Where the probability is 0 the gradient is, whatever dP holds: in a masked tile these are the
  /// dead pairs.
  template <bool kMasked>
  __device__ __forceinline__ void subtract(const Score& probability, Score& d_probability,
                                           ptx::SharedAddress delta, Numbers numbers) const {
#pragma unroll
    for (int g = 0; g < kColumns / 8; ++g) {
      load_ahead(delta, g, numbers);
      const ptx::Floats2 pair = numbers.pair[g % kAhead];
#pragma unroll
      for (int e = 4 * g; e < 4 * g + 4; ++e) {
        const float d =
            probability.value[e] * (d_probability.value[e] - (e % 2 == 0 ? pair.x : pair.y));
        d_probability.value[e] = kMasked && probability.value[e] == 0.0f ? 0.0f : d;
      }
    }
  }

  /// Both at once.
  template <bool kMasked>
  __device__ __forceinline__ void differentiate(Score& score, Score& d_probability,
                                                const Site& tile) const {
    Live live;
    if (kMasked) live.find(bindings, keys, lane, first_row(tile), tile.bounds());
    typename Mods::Diagonal above[2];
    start_diagonals(tile, above);
#pragma unroll
    for (int g = 0; g < kColumns / 8; ++g) {
      const ptx::Floats2 shift = columns(tile.minus_lse, g);
      const ptx::Floats2 sums = columns(tile.delta, g);
#pragma unroll
      for (int low = 0; low < 2; ++low) {
        const Query at = query(tile, g, low, low == 0 ? shift.x : shift.y, above[low]);
#pragma unroll
        for (int slot = 0; slot < kRowsPerThread; ++slot) {
          const int e = 4 * g + 2 * slot + low;
          const ScoreSite<Mods> site = score_site(at, slot, score.value[e], 0.0f);
          float score_log2 = score.value[e] * params.scale_log2;
          if constexpr (Mods::kHasScoreMod) score_log2 = Mods::exponent(bindings, site);
          const bool dead = kMasked && !live.at(e);
          const float p = dead ? 0.0f : ptx::exp2_fast(score_log2 + at.minus_reference);
          const float d_modified = p * (d_probability.value[e] - (low == 0 ? sums.x : sums.y));
          const GradientSite<Mods> gradient = {d_modified, score_log2, site};
          const float d = Gradient::d_score(bindings, gradient);
          score.value[e] = p;
          d_probability.value[e] = p == 0.0f ? 0.0f : d;
        }
        above[low] = at.diagonal[0];
      }
    }
  }

  /// A column of the fragment: what its two scores have in common.
  struct Query {
    i32 i;
    float minus_reference;
    typename Mods::Row row;
    typename Mods::Diagonal diagonal[kRowsPerThread];
  };

  /// Row slot 1 lies 8 keys below slot 0, so it meets the diagonal that slot 0 met 8 queries
  /// before.
  __device__ __forceinline__ void start_diagonals(const Site& tile,
                                                  typename Mods::Diagonal (&above)[2]) const {
    if constexpr (Mods::kHasScoreMod) {
      const i32 i = first_row(tile) + lane.first_column;
#pragma unroll
      for (int low = 0; low < 2; ++low) {
        above[low] = Mods::diagonal(bindings, keys.head, i + low - 8 - keys.first_key);
      }
    }
  }

  __device__ __forceinline__ Query query(const Site& tile, int g, int low, float minus_reference,
                                         const typename Mods::Diagonal& above) const {
    Query at;
    at.i = first_row(tile) + lane.first_column + 8 * g + low;
    at.minus_reference = minus_reference;
    if constexpr (Mods::kHasScoreMod) {
      at.row = keys.row(bindings, at.i);
      at.diagonal[0] = Mods::diagonal(bindings, keys.head, at.i - keys.first_key);
      at.diagonal[1] = above;
    }
    return at;
  }

  __device__ __forceinline__ ScoreSite<Mods> score_site(const Query& at, int slot, float product,
                                                        float minus_reference) const {
    const PairIndex pair = {at.i, keys.first_key + 8 * slot, keys.first_key,
                            static_cast<float>(8 * slot)};
    return {product,           params.scale,      params.scale_log2,
            minus_reference,   keys.head,         at.row,
            keys.column[slot], at.diagonal[slot], pair};
  }

  __device__ __forceinline__ float exponent(const Query& at, int slot, float product) const {
    if constexpr (!Mods::kHasScoreMod) {
      return ptx::fused(product, params.scale_log2, at.minus_reference);
    } else {
      return Mods::exponent(bindings, score_site(at, slot, product, at.minus_reference));
    }
  }
};

}  // namespace tilewright::cuda
