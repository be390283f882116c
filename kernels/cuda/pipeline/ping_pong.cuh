// Hands the tensor cores from one consumer warpgroup to the next, so that the softmax of one runs
// under the products of another.
#pragma once

#include "ptx/named_barrier.cuh"

namespace tilewright::cuda {

/// Barrier kFirstId + w opens when warpgroup w may issue its products; 256 threads: 128 that wait,
/// 128 that pass the turn.
template <int kWarpgroups, bool kEnabled>
struct PingPong {
  static constexpr u32 kFirstId = 1;
  u32 warpgroup;

  __device__ __forceinline__ ptx::NamedBarrier turn_of(u32 other) const {
    return {kFirstId + other, 256};
  }
  __device__ __forceinline__ u32 following() const {
    return warpgroup + 1 == kWarpgroups ? 0 : warpgroup + 1;
  }

  /// The last warpgroup gives the first one its first turn.
  __device__ __forceinline__ void start() const {
    if (kEnabled && warpgroup == kWarpgroups - 1) ptx::arrive(turn_of(0));
  }
  __device__ __forceinline__ void await_turn() const {
    if (kEnabled) ptx::sync(turn_of(warpgroup));
  }
  __device__ __forceinline__ void pass_turn() const {
    if (kEnabled) ptx::arrive(turn_of(following()));
  }
  /// Takes back the turn that is under way when every warpgroup has made the same number of steps.
  __device__ __forceinline__ void finish() const {
    if (kEnabled && warpgroup == 0) ptx::sync(turn_of(0));
  }
};

}  // namespace tilewright::cuda
