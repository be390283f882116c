// Matrix fragments from shared memory. PTX ISA: "Warp-level matrix load instruction, ldmatrix".
#pragma once

#include "ptx/shared_address.cuh"

namespace tilewright::cuda::ptx {

/// Four 8 x 8 matrices of 16-bit elements (8 rows of 16 bytes), a word of each in every lane. Lanes
/// 8 m to 8 m + 7 bring the row addresses of matrix m; lane t receives word t % 4 of row t / 4.
__device__ __forceinline__ void load_matrices(u32 (&word)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
               : "r"(row.bytes)
               : "memory");
}

/// The same, each matrix transposed.
__device__ __forceinline__ void load_matrices_transposed(u32 (&word)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
               : "r"(row.bytes)
               : "memory");
}

}  // namespace tilewright::cuda::ptx
