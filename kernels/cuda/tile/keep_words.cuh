// Which keys of a tile a row keeps, as bits: a few shifts per 32 columns of a thread instead of a
// comparison per score.
#pragma once

#include "ptx/numbers.cuh"
#include "tile/accumulator.cuh"

namespace tilewright::cuda {

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

}  // namespace tilewright::cuda
