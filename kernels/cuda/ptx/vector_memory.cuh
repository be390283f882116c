// Accesses of several neighbours at once, and sums that the memory itself adds up. PTX ISA: "ld,
// st, red".
#pragma once

#include "ptx/global_memory.cuh"
#include "ptx/shared_address.cuh"

namespace tilewright::cuda::ptx {

/// Four fp32 values, one 16-byte access.
struct Floats4 {
  float x, y, z, w;
};

struct Floats2 {
  float x, y;
};

__device__ __forceinline__ Floats2 load_shared_pair(SharedAddress from) {
  Floats2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(pair.x), "=f"(pair.y)
               : "r"(from.bytes)
               : "memory");
  return pair;
}

struct Words2 {
  u32 x, y;
};

__device__ __forceinline__ Words2 load_shared_words2(SharedAddress from) {
  Words2 words;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(words.x), "=r"(words.y)
               : "r"(from.bytes)
               : "memory");
  return words;
}

__device__ __forceinline__ Words4 load_shared_words4(SharedAddress from) {
  Words4 words;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "r"(from.bytes)
               : "memory");
  return words;
}

__device__ __forceinline__ void store_shared(SharedAddress to, Words2 words) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to.bytes), "r"(words.x), "r"(words.y)
               : "memory");
}

__device__ __forceinline__ void store_shared(SharedAddress to, Words4 words) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to.bytes), "r"(words.x),
               "r"(words.y), "r"(words.z), "r"(words.w)
               : "memory");
}

__device__ __forceinline__ Words4 load_words(const void* from) {
  Words4 words;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "l"(from));
  return words;
}

__device__ __forceinline__ Floats4 load_floats(const float* from) {
  Floats4 values;
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values.x), "=f"(values.y), "=f"(values.z), "=f"(values.w)
               : "l"(from));
  return values;
}

__device__ __forceinline__ void store(float* to, Floats4 values) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(values.x), "f"(values.y),
               "f"(values.z), "f"(values.w)
               : "memory");
}

/// Adds where the value lies; nothing comes back.
__device__ __forceinline__ void add_in_memory(float* to, float value) {
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(to), "f"(value) : "memory");
}

/// Adds to four neighbours where they lie, sm_90 and later; nothing comes back.
__device__ __forceinline__ void add_in_memory(float* to, Floats4 values) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(values.x),
               "f"(values.y), "f"(values.z), "f"(values.w)
               : "memory");
}

}  // namespace tilewright::cuda::ptx
