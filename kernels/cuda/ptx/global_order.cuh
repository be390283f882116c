// Order between blocks by words in global memory. PTX ISA: "Memory Consistency Model".
#pragma once

#include "ptx/mbarrier.cuh"

namespace tilewright::cuda::ptx {

/// Everything this thread has written or added comes before whatever it does next, for the device.
__device__ __forceinline__ void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

__device__ __forceinline__ u32 load_acquire(const u32* from) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

/// Stores where `predicate` holds, without a branch.
__device__ __forceinline__ void store_release_if(bool predicate, u32* to, u32 value) {
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %2, 0; @p st.release.gpu.global.u32 [%0], %1; }" ::"l"(to),
      "r"(value), "r"(static_cast<u32>(predicate))
      : "memory");
}

/// Stores what the device sees whole; a fence before it makes it a release.
__device__ __forceinline__ void store_relaxed(u32* to, u32 value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

/// Waits until the word holds `value`.
__device__ __forceinline__ void await_word(const u32* word, u32 value) {
  for (u32 tries = 0; load_acquire(word) != value; ++tries) {
    if (TILEWRIGHT_WAIT_LIMIT != 0 && tries > TILEWRIGHT_WAIT_LIMIT) __trap();
  }
}

}  // namespace tilewright::cuda::ptx
