// The running softmax of a warpgroup's 64 rows, two rows a thread.
//
// p = 2^(t log2(e) - reference). The reference is a maximum that may lag: any reference gives the
// same softmax as long as p stays in range. A tile first tries the reference it finds: the row sums
// of the tile, which are needed anyway, bound every p in it, so no maximum is computed at all.
// Where a sum exceeds kSumLimit the warpgroup does the tile again, with its maximum. The row sums
// use the unrounded p.
#pragma once

#include "ptx/numbers.cuh"
#include "tile/accumulator.cuh"

namespace tilewright::cuda {

/// A reference moves when a score exceeds it by more than this, in powers of two.
inline constexpr float kLag = 8.0f;
/// How far a reference that moves goes past the maximum that moved it. A row whose first tile keeps
/// few keys has a maximum there that later tiles exceed by much.
template <class Element>
inline constexpr float kHeadroom = 8.0f;
/// p in fp16 ends at 2^-24: below a reference 2^8 too high, what 2^16 keys carry together would
/// round to nothing.
template <>
inline constexpr float kHeadroom<F16> = 0.0f;
/// The largest sum of a thread's p in a row of one tile that is accepted without looking for the
/// maximum: 2^kLag.
inline constexpr float kSumLimit = 256.0f;
/// Below every finite reference; finite, so that a row without live pairs gives 2^(-inf) = 0 and
/// not NaN.
inline constexpr float kNoReference = -3.402823466e38f;

/// 2^x for x <= 126 on the FMA units, relative error 2^-18.4, exact at integers; x below -126 gives
/// at most 2^-126.
__device__ __forceinline__ float exp2_polynomial(float x) {
  constexpr float kRoundShift =
      12582912.0f;  // 1.5 * 2^23: adding it leaves round(x) in the low mantissa bits
  const float clamped = ptx::larger(x, -126.0f);
  const float shifted = clamped + kRoundShift;
  const float fraction = clamped - (shifted - kRoundShift);
  float p = ptx::fused(fraction, 9.58257665e-3f, 5.590683e-2f);
  p = ptx::fused(fraction, p, 0.240241073f);
  p = ptx::fused(fraction, p, 0.693124118f);
  p = ptx::fused(fraction, p, 1.0f);
  return ptx::float_of(ptx::bits_of(p) + (ptx::bits_of(shifted) << 23));
}

template <class Variant>
struct OnlineSoftmax {
  using Score = Accumulator<Variant::kKeyTile>;

  float reference[kRowsPerThread];
  float sum[kRowsPerThread];      ///< of this thread's columns only
  float maximum[kRowsPerThread];  ///< times log2(e), of this thread's columns; kept by variants
                                  ///< that return it

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      reference[slot] = kNoReference;
      sum[slot] = 0.0f;
      maximum[slot] = ptx::float_of(0xff800000u);
    }
  }

  /// The largest of the thread's scores in each row, in two chains a row so that latency does not
  /// bind.
  static __device__ __forceinline__ void row_maxima(const Score& score,
                                                    float (&largest)[kRowsPerThread]) {
    float chain[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) chain[c] = score.value[c];
#pragma unroll
    for (int e = 4; e < Score::kElements; ++e) {
      chain[e % 4] = ptx::larger(chain[e % 4], score.value[e]);
    }
    largest[0] = ptx::larger(chain[0], chain[1]);
    largest[1] = ptx::larger(chain[2], chain[3]);
  }

  /// Moves the references of the warp's rows where one of them lags too far behind score *
  /// multiplier. True: earlier sums of products must be multiplied by `factor`, a value per row.
  __device__ __forceinline__ bool raise(const Score& score, float multiplier,
                                        float (&factor)[kRowsPerThread]) {
    float largest[kRowsPerThread];
    row_maxima(score, largest);
    bool lags = false;
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      largest[slot] *= multiplier;
      if constexpr (Variant::kTracksMaximum) {
        maximum[slot] = ptx::larger(maximum[slot], largest[slot]);
      }
      lags |= largest[slot] > reference[slot] + kLag;
    }
    if (!ptx::any(lags)) return false;
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      float row_largest = ptx::larger(largest[slot], ptx::shuffle_xor<1>(largest[slot]));
      row_largest = ptx::larger(row_largest, ptx::shuffle_xor<2>(row_largest));
      const float raised =
          ptx::larger(reference[slot], row_largest + kHeadroom<typename Variant::Element>);
      factor[slot] = ptx::exp2_fast(reference[slot] - raised);
      sum[slot] *= factor[slot];
      reference[slot] = raised;
    }
    return true;
  }

  /// score := p, where exponent(e, score, -reference of its row) gives the exponent; also the
  /// tile's row sums.
  template <class Exponent>
  __device__ __forceinline__ void exponentiate(Score& score, const Exponent& exponent,
                                               float (&tile_sum)[kRowsPerThread]) const {
    constexpr int kPeriod = Variant::kPolynomialPeriod;
    float chain[4];
#pragma unroll
    for (int e = 0; e < Score::kElements; ++e) {
      const float x = exponent(e, score.value[e], -reference[Score::row_slot(e)]);
      const bool on_fma_units = kPeriod != 0 && e % (kPeriod == 0 ? 1 : kPeriod) == kPeriod - 1;
      score.value[e] = on_fma_units ? exp2_polynomial(x) : ptx::exp2_fast(x);
      chain[e % 4] = e < 4 ? score.value[e] : chain[e % 4] + score.value[e];
    }
    tile_sum[0] = chain[0] + chain[1];
    tile_sum[1] = chain[2] + chain[3];
  }

  /// Whether the sums of a tile show that all of its p are in range.
  static __device__ __forceinline__ bool in_range(const float (&tile_sum)[kRowsPerThread]) {
    return tile_sum[0] <= kSumLimit && tile_sum[1] <= kSumLimit;
  }

  __device__ __forceinline__ void add(const float (&tile_sum)[kRowsPerThread]) {
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) sum[slot] += tile_sum[slot];
  }

  /// p rounded to the element type, in the register order of a matrix operand: four words a
  /// 16-column step.
  static __device__ __forceinline__ void pack(const Score& score,
                                              u32 (&probability)[Variant::kKeyTile / 4]) {
#pragma unroll
    for (int word = 0; word < Variant::kKeyTile / 4; ++word) {
      probability[word] =
          ptx::pack(typename Variant::Element{}, score.value[2 * word], score.value[2 * word + 1]);
    }
  }
};

}  // namespace tilewright::cuda
