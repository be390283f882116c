// A row of a fragment on its way to global memory: the four lanes that share it exchange 2-column
// pieces, so that each stores 8 contiguous elements (16 bytes).
#pragma once

#include "tile/quad.cuh"

namespace tilewright::cuda {

/// Stores the first `groups` groups of 8 columns of a row; word(g) is the lane's packed pair of
/// group g < kGroups. Called by all lanes of a warp; 0 groups where the row does not exist.
template <int kGroups, class Word>
__device__ __forceinline__ void store_row_groups(const Word& word, u16* row, i32 groups) {
  const i32 t = static_cast<i32>(ptx::thread_in_block() % 4);
#pragma unroll
  for (int first = 0; first < kGroups; first += 4) {
    u32 pair[4];
#pragma unroll
    for (int g = 0; g < 4; ++g) pair[g] = word(first + g < kGroups ? first + g : kGroups - 1);
    const ptx::Words4 mine =
        transpose_in_quad({pair[0], pair[1], pair[2], pair[3]}, static_cast<u32>(t));
    if (first + t < groups) ptx::store(row + (first + t) * 8, mine);
  }
}

}  // namespace tilewright::cuda
