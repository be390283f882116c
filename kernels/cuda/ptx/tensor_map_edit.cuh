// Tensor maps changed on the device. PTX ISA: "tensormap.replace", "membar/fence,
// .proxy::tensormap". sm_90a.
#pragma once

#include "ptx/tensor_copy.cuh"

namespace tilewright::cuda::ptx {

/// Sets the extent of axis 1, the rows, of a map in global memory; at least 1.
__device__ __forceinline__ void replace_rows(TensorMap* map, u32 rows) {
  asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 1, %1;" ::"l"(map),
               "r"(rows)
               : "memory");
}

/// Behind the last change of a map.
__device__ __forceinline__ void release_tensor_maps() {
  asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
}

/// Before the first copy by a map that another kernel has changed.
__device__ __forceinline__ void acquire(const TensorMap* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

}  // namespace tilewright::cuda::ptx
