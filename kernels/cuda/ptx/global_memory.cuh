// Global loads, stores and counters. PTX ISA: "ld, st, atom".
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda::ptx {

/// Four 32-bit words, stored as one 16-byte access.
struct Words4 {
  u32 x, y, z, w;
};

__device__ __forceinline__ void store(void* to, Words4 words) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.x), "r"(words.y),
               "r"(words.z), "r"(words.w)
               : "memory");
}

/// Two neighbours as one 8-byte access.
__device__ __forceinline__ void store(float* to, float first, float second) {
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(first), "f"(second) : "memory");
}

__device__ __forceinline__ void store(u16* to, u16 value) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(to), "h"(value) : "memory");
}

__device__ __forceinline__ void store(float* to, float value) {
  asm volatile("st.global.f32 [%0], %1;" ::"l"(to), "f"(value) : "memory");
}

__device__ __forceinline__ void store(u32* to, u32 value) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

__device__ __forceinline__ i32 load(const i32* from) {
  i32 value;
  asm volatile("ld.global.s32 %0, [%1];" : "=r"(value) : "l"(from));
  return value;
}

__device__ __forceinline__ float load(const float* from) {
  float value;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(from));
  return value;
}

__device__ __forceinline__ u16 load(const u16* from) {
  u16 value;
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(value) : "l"(from));
  return value;
}

/// Makes this thread's earlier stores visible to the host and to other devices.
__device__ __forceinline__ void fence_system() { asm volatile("fence.sc.sys;" ::: "memory"); }

/// Adds one and returns the old value.
__device__ __forceinline__ u32 count_up(u32* counter) {
  u32 old;
  asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(counter) : "memory");
  return old;
}

/// Adds one, wrapping to zero after `last`, and returns the old value; orders this thread's earlier
/// accesses before it.
__device__ __forceinline__ u32 count_up_wrapping(u32* counter, u32 last) {
  u32 old;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(counter), "r"(last)
               : "memory");
  return old;
}

}  // namespace tilewright::cuda::ptx
