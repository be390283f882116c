// A ring of shared-memory stages that a producer fills and consumers empty.
#pragma once

#include "ptx/mbarrier.cuh"

namespace tilewright::cuda {

/// Where one side stands in a ring: the stage, and the parity of the phase that fills it next.
template <int kStages>
struct RingPosition {
  u32 stage = 0;
  u32 parity = 0;

  /// The stage before this one.
  __device__ __forceinline__ u32 previous() const { return stage == 0 ? kStages - 1 : stage - 1; }

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// The barriers of a ring: kStages "full" ones, then kStages "empty" ones, 8 bytes each.
template <int kStages>
struct RingBarriers {
  static constexpr int kBytes = 2 * kStages * 8;
  ptx::SharedAddress base;

  __device__ __forceinline__ ptx::Mbarrier full(u32 stage) const { return {base + stage * 8}; }
  __device__ __forceinline__ ptx::Mbarrier empty(u32 stage) const {
    return {base + (kStages + stage) * 8};
  }

  __device__ __forceinline__ void init(u32 full_arrivals, u32 empty_arrivals) const {
    for (u32 stage = 0; stage < kStages; ++stage) {
      ptx::init(full(stage), full_arrivals);
      ptx::init(empty(stage), empty_arrivals);
    }
  }

  __device__ __forceinline__ void wait_full(RingPosition<kStages> at) const {
    ptx::wait(full(at.stage), at.parity);
  }
  /// A fresh ring is empty: the first pass over the stages waits for nothing.
  __device__ __forceinline__ void wait_empty(RingPosition<kStages> at) const {
    ptx::wait(empty(at.stage), at.parity ^ 1);
  }
};

/// A RingPosition in one register, for a role that has few.
template <int kStages>
struct PackedRingPosition {
  u32 bits = 0;  ///< the stage; the parity from bit 16

  __device__ __forceinline__ u32 stage() const { return bits & 0xffffu; }
  __device__ __forceinline__ RingPosition<kStages> position() const {
    return {stage(), bits >> 16};
  }
  __device__ __forceinline__ void advance() {
    ++bits;
    if (stage() == kStages) bits ^= 0x10000u | kStages;
  }
};

}  // namespace tilewright::cuda
