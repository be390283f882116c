// The sixteen hardware barriers of a block. PTX ISA: "barrier, bar".
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda::ptx {

/// A hardware barrier on which `threads` threads meet, some by sync, the others by arrive.
struct NamedBarrier {
  u32 id;
  u32 threads;
};

__device__ __forceinline__ void sync(NamedBarrier barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier.id), "r"(barrier.threads) : "memory");
}

__device__ __forceinline__ void arrive(NamedBarrier barrier) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier.id), "r"(barrier.threads) : "memory");
}

/// Meets like sync, and tells every thread whether any of them brought a true predicate.
__device__ __forceinline__ bool sync_any(NamedBarrier barrier, bool predicate) {
  u32 result;
  asm volatile(
      "{ .reg .pred p, q; setp.ne.u32 p, %3, 0; bar.red.or.pred q, %1, %2, p; selp.u32 %0, 1, 0, "
      "q; }"
      : "=r"(result)
      : "r"(barrier.id), "r"(barrier.threads), "r"(static_cast<u32>(predicate))
      : "memory");
  return result != 0;
}

/// All threads of the block.
__device__ __forceinline__ void sync_block() { asm volatile("bar.sync 0;" ::: "memory"); }

}  // namespace tilewright::cuda::ptx
