// Ordering of warpgroup matrix instructions; the instructions themselves are in ptx/wgmma/, a file
// per shape. PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once

#include "ptx/numbers.cuh"

namespace tilewright::cuda::ptx {

/// m64 x kColumns x k16 matrix instructions; specialised by ptx/wgmma/m64n<kColumns>k16.cuh.
template <int kColumns>
struct Wgmma;

/// Orders register and shared-memory accesses before the matrix instructions that follow.
__device__ __forceinline__ void matrix_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void matrix_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most kPending committed groups are still running.
template <int kPending>
__device__ __forceinline__ void matrix_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// Pins a register that a running matrix instruction reads or writes: the compiler moves no use of
/// it across this point.
__device__ __forceinline__ void pin(float& value) { asm volatile("" : "+f"(value)::"memory"); }
__device__ __forceinline__ void pin(u32& value) { asm volatile("" : "+r"(value)::"memory"); }

/// Gives a register a value that nobody reads: what it held is not needed behind this point.
__device__ __forceinline__ void forget(float& value) { asm volatile("" : "=f"(value)); }

}  // namespace tilewright::cuda::ptx
