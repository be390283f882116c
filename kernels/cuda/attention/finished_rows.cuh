// What a row's running softmax amounts to after the last tile: the factor of its products, lse and
// maximum.
#pragma once

#include "attention/online_softmax.cuh"
#include "tile/quad.cuh"

namespace tilewright::cuda {

/// Row statistics after the last tile, complete in every lane.
struct FinishedRows {
  float inverse_sum[kRowsPerThread];  ///< 0 for a row without live pairs
  float lse[kRowsPerThread];
  float maximum[kRowsPerThread];
};

template <class Variant>
__device__ __forceinline__ FinishedRows finish_rows(const OnlineSoftmax<Variant>& softmax) {
  constexpr float kLn2 = 0.693147180559945f;
  const float infinity = ptx::float_of(0x7f800000u);
  FinishedRows done;
#pragma unroll
  for (int slot = 0; slot < kRowsPerThread; ++slot) {
    const float sum = sum_over_quad(softmax.sum[slot]);
    done.inverse_sum[slot] = sum == 0.0f ? 0.0f : ptx::reciprocal(sum);
    const float lse = (softmax.reference[slot] + ptx::log2_fast(sum)) * kLn2;
    const float finite_or_high = softmax.reference[slot] == infinity ? infinity : lse;
    done.lse[slot] = sum == 0.0f ? -infinity : finite_or_high;
    float maximum = softmax.maximum[slot];
    maximum = ptx::larger(maximum, ptx::shuffle_xor<1>(maximum));
    done.maximum[slot] = ptx::larger(maximum, ptx::shuffle_xor<2>(maximum)) * kLn2;
  }
  return done;
}

}  // namespace tilewright::cuda
