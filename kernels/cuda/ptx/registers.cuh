// Moving registers between the warpgroups of a block. PTX ISA: "setmaxnreg".
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda::ptx {

/// Gives registers back until each thread of the warpgroup keeps kCount.
template <u32 kCount>
__device__ __forceinline__ void shrink_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}

/// Waits until the warpgroup can hold kCount registers a thread.
template <u32 kCount>
__device__ __forceinline__ void grow_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

}  // namespace tilewright::cuda::ptx
