// Writes what the host knows into device memory. The words travel as a kernel's parameter, so that
// the host's memory may be gone when the kernel runs, nothing waits, and a captured graph keeps
// them.
//
// Launch     one block of 256 threads a chunk.
#pragma once

#include "ptx/integers.cuh"
#include "ptx/lane.cuh"

namespace tilewright::cuda {

/// The host fills it; src/backends/cuda/launch/list_launch.h mirrors it.
template <int kWords>
struct WordChunk {
  u32* to;
  i32 words;
  i32 reserved;
  u32 word[kWords];
};

/// The body of a kernel.
template <int kWords>
__device__ __forceinline__ void upload_words(const WordChunk<kWords>& chunk) {
  for (i32 n = static_cast<i32>(ptx::thread_in_block()); n < chunk.words; n += 256) {
    chunk.to[n] = chunk.word[n];
  }
}

}  // namespace tilewright::cuda
