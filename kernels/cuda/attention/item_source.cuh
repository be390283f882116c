// Where a persistent block gets its items from.
#pragma once

#include "ptx/global_memory.cuh"
#include "ptx/lane.cuh"

namespace tilewright::cuda {

/// Hands out item indices to a warp: the block's own first, then from the global counter. One index
/// is always fetched ahead. With kInOrder all come from the counter when they are wanted: an item
/// may wait for those below it, since all of these are with blocks that run.
template <bool kInOrder = false>
struct ItemSource {
  u32* counters;  ///< two zeros, zero again when every block has finished: items taken, blocks done
  i32 items;
  u32 lane;
  u32 fetched = 0;

  __device__ __forceinline__ i32 first() {
    if constexpr (kInOrder) return next();
    fetch();
    return static_cast<i32>(ptx::block_in_grid());
  }
  __device__ __forceinline__ i32 next() {
    if constexpr (kInOrder) {
      fetch();
      return static_cast<i32>(ptx::broadcast(fetched, 0));
    }
    const u32 index = ptx::broadcast(fetched, 0) + ptx::blocks_in_grid();
    if (index < static_cast<u32>(items)) fetch();
    return static_cast<i32>(index);
  }
  /// The last block to finish leaves the counters as it found them.
  __device__ __forceinline__ void finish() const {
    if (lane != 0) return;
    const u32 last = ptx::blocks_in_grid() - 1;
    if (ptx::count_up_wrapping(counters + 1, last) == last) ptx::store(counters, 0u);
  }

 private:
  __device__ __forceinline__ void fetch() {
    if (lane == 0) fetched = ptx::count_up(counters);
  }
};

}  // namespace tilewright::cuda
