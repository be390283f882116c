// A 16-bit fragment on its way to a shared tile, where matrix instructions of other warps read it.
#pragma once

#include "ptx/matrix_store.cuh"
#include "tile/accumulator.cuh"
#include "tile/shared_tile.cuh"

namespace tilewright::cuda {

/// Stores kColumns columns of a warpgroup's 64 rows at [first_row, first_column) of a tile; words
/// in the order of a matrix operand (four a 16-column step). first_column is a multiple of 16. The
/// reader's barrier comes after a fence_async_shared of every storing thread.
template <class Tile, int kColumns>
__device__ __forceinline__ void store_fragment(const u32 (&words)[kColumns / 4],
                                               ptx::SharedAddress tile, i32 first_row,
                                               i32 first_column) {
  const i32 thread = static_cast<i32>(ptx::thread_in_block() % 128);
  const i32 row = first_row + thread / 32 * 16 + thread % 16;
  const i32 first_group = first_column / 8 + thread % 32 / 16;
  const ptx::SharedAddress row_start = tile + static_cast<u32>(row * kChunkRowBytes);
#pragma unroll
  for (int step = 0; step < kColumns / 16; ++step) {
    const i32 group = first_group + 2 * step;
    const i32 offset = group / 8 * Tile::kChunkBytes + (group % 8 ^ row % 8) * 16;
    ptx::store_matrices(
        row_start + static_cast<u32>(offset),
        {words[4 * step], words[4 * step + 1], words[4 * step + 2], words[4 * step + 3]});
  }
}

}  // namespace tilewright::cuda
