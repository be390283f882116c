// Bulk copies of contiguous bytes into shared memory. PTX ISA: "Data Movement, cp.async.bulk".
#pragma once

#include "ptx/mbarrier.cuh"

namespace tilewright::cuda::ptx {

/// Copies `bytes` (a multiple of 16, both addresses too) from global memory; `full` receives them.
__device__ __forceinline__ void copy_bytes(SharedAddress to, const void* from, u32 bytes,
                                           Mbarrier full) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
      "[%3];" ::"r"(to.bytes),
      "l"(from), "r"(bytes), "r"(full.address.bytes)
      : "memory");
}

}  // namespace tilewright::cuda::ptx
