// Asynchronous copies of a few bytes from global to shared memory, sm_80 and later. PTX ISA: "Data
// Movement, cp.async".
#pragma once

#include "ptx/shared_address.cuh"

namespace tilewright::cuda::ptx {

/// Copies 16 bytes; both addresses are multiples of 16.
__device__ __forceinline__ void copy_16_bytes(SharedAddress to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to.bytes), "l"(from)
               : "memory");
}

/// Copies the first `valid_bytes` of 16 and fills the rest with zeros; both addresses are multiples
/// of 16. `from` is not read where valid_bytes is 0.
__device__ __forceinline__ void copy_16_bytes(SharedAddress to, const void* from, u32 valid_bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to.bytes), "l"(from),
               "r"(valid_bytes)
               : "memory");
}

/// Copies the first `valid_bytes` of 4 and fills the rest with zeros; both addresses are multiples
/// of 4.
__device__ __forceinline__ void copy_4_bytes(SharedAddress to, const void* from, u32 valid_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to.bytes), "l"(from),
               "r"(valid_bytes)
               : "memory");
}

/// Ends a group of copies of this thread.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most kPending groups of this thread are under way.
template <u32 kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace tilewright::cuda::ptx
