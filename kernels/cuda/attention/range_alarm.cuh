// How a warp tells its warpgroup that probabilities left their range, without a barrier of its own.
//
// Two words in shared memory take turns. A step reads one behind the barrier that it starts with
// and raises the other; the word it read is raised again only behind the next barrier, so all warps
// of the warpgroup read the same.
#pragma once

#include "ptx/lane.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/shared_address.cuh"

namespace tilewright::cuda {

struct RangeAlarm {
  ptx::SharedAddress words;    ///< two, zero at the start
  ptx::NamedBarrier together;  ///< of the warpgroup alone
  u32 side = 0;

  __device__ __forceinline__ bool raised() const {
    return ptx::load_shared_u32(words + 4 * side) != 0;
  }
  __device__ __forceinline__ void raise() const {
    if (ptx::thread_in_block() % 32 == 0) ptx::store_shared_u32(words + 4 * (side ^ 1), 1);
  }
  /// Writes what is there: the word that this step read has not been raised.
  __device__ __forceinline__ void stay_silent() const {
    if (ptx::thread_in_block() % 32 == 0) ptx::store_shared_u32(words + 4 * side, 0);
  }
  /// Called by the whole warpgroup once all of it has seen the alarm.
  __device__ __forceinline__ void reset() const {
    ptx::sync(together);
    if (ptx::thread_in_block() % 128 == 0) ptx::store_shared_u32(words + 4 * side, 0);
    ptx::sync(together);
  }
  __device__ __forceinline__ void next_step() { side ^= 1; }
};

}  // namespace tilewright::cuda
