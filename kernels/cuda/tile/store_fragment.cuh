// A 16-bit fragment on its way to a shared tile, where matrix instructions of other warps read it.
#pragma once

#include "ptx/lane.cuh"
#include "ptx/matrix_store.cuh"
#include "tile/accumulator.cuh"
#include "tile/shared_tile.cuh"

namespace tilewright::cuda {

/// Where in a tile a thread stores what it holds of a fragment of kColumns columns and 64 rows that
/// begins at [first_row, first_column). first_column is a multiple of kColumns, which is 32, 64 or
/// 128: the places of a row's columns then differ from the first in bits of their own.
template <class Tile, int kColumns>
struct FragmentPlace {
  static_assert(kColumns == 32 || kColumns == 64 || kColumns == 128);

  u32 offset;  ///< of the first 16 columns, in bytes from the tile

  static __device__ __forceinline__ FragmentPlace of_thread(i32 first_row, i32 first_column) {
    const i32 thread = static_cast<i32>(ptx::thread_in_block() % 128);
    const i32 row = first_row + thread / 32 * 16 + thread % 16;
    const i32 group = first_column / 8 + thread % 32 / 16;
    const i32 offset = row * kChunkRowBytes + group / 8 * Tile::kChunkBytes;
    // Kept, not computed again: between what is stored and the barrier behind it every instruction
    // counts.
    return {ptx::forgotten(static_cast<u32>(offset + (group % 8 ^ row % 8) * 16))};
  }

  /// Stores words in the order of a matrix operand (four a 16-column step). The reader's barrier
  /// comes after a fence_async_shared of every storing thread.
  __device__ __forceinline__ void store(const u32 (&words)[kColumns / 4],
                                        ptx::SharedAddress tile) const {
    const u32 first = tile.bytes + offset;
#pragma unroll
    for (u32 step = 0; step < kColumns / 16; ++step) {
      const u32 place = (first ^ step % 4 * 32) + step / 4 * Tile::kChunkBytes;
      ptx::store_matrices({place}, {words[4 * step], words[4 * step + 1], words[4 * step + 2],
                                    words[4 * step + 3]});
    }
  }
};

}  // namespace tilewright::cuda
