// A tile's copy from global to shared memory by the copy engine, a box of 64 columns at a time.
#pragma once

#include "ptx/tensor_copy.cuh"
#include "tile/shared_tile.cuh"

namespace tilewright::cuda {

/// Called by one thread, after it has announced Tile::kBytes on `full`.
template <class Tile>
__device__ __forceinline__ void copy_tile(ptx::SharedAddress to, const ptx::TensorMap* map,
                                          ptx::TensorCoordinate source, ptx::Mbarrier full) {
#pragma unroll
  for (int chunk = 0; chunk < Tile::kChunks; ++chunk) {
    source.column = chunk * kChunkColumns;
    ptx::copy_box(to + chunk * Tile::kChunkBytes, map, source, full);
  }
}

}  // namespace tilewright::cuda
