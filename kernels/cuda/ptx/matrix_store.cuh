// Storing matrix fragments to shared memory. PTX ISA: "stmatrix".
#pragma once

#include "ptx/global_memory.cuh"
#include "ptx/shared_address.cuh"

namespace tilewright::cuda::ptx {

/// Stores four 8 x 8 matrices of 16-bit elements, a word of each in every lane; lane 8 m + r brings
/// the address of row r of matrix m, 16 bytes.
__device__ __forceinline__ void store_matrices(SharedAddress row, Words4 words) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row.bytes),
               "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
               : "memory");
}

}  // namespace tilewright::cuda::ptx
