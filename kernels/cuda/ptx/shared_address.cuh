// Addresses in the shared-memory window of a block. PTX ISA: "State spaces, shared".
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda::ptx {

/// Byte address inside the block's shared window; a plain integer so that descriptors and barriers
/// can be computed from it.
struct SharedAddress {
  u32 bytes;

  __device__ __forceinline__ SharedAddress operator+(u32 offset_bytes) const {
    return {bytes + offset_bytes};
  }
};

/// The shared-window address of a generic pointer that points into shared memory.
__device__ __forceinline__ SharedAddress shared_address(const void* pointer) {
  return {static_cast<u32>(__cvta_generic_to_shared(pointer))};
}

__device__ __forceinline__ u32 load_shared_u32(SharedAddress from) {
  u32 value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(from.bytes) : "memory");
  return value;
}

__device__ __forceinline__ float load_shared_f32(SharedAddress from) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(from.bytes) : "memory");
  return value;
}

__device__ __forceinline__ void store_shared_u16(SharedAddress to, u16 value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(to.bytes), "h"(value) : "memory");
}

__device__ __forceinline__ void store_shared_u32(SharedAddress to, u32 value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to.bytes), "r"(value) : "memory");
}

__device__ __forceinline__ void store_shared_f32(SharedAddress to, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(to.bytes), "f"(value) : "memory");
}

}  // namespace tilewright::cuda::ptx
