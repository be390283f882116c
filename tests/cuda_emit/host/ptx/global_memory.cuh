// Stands for kernels/cuda/ptx/global_memory.cuh when the host compiler translates emitted mods.
#pragma once

#include <cstring>

#include "ptx/integers.cuh"

namespace tilewright::cuda::ptx {

struct Words4 {
  u32 x, y, z, w;
};

inline void store(void* to, Words4 words) { std::memcpy(to, &words, sizeof words); }
inline void fence_system() {}

}  // namespace tilewright::cuda::ptx
