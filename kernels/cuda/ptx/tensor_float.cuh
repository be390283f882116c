// fp32 operands of the matrix instructions. PTX ISA: "cvt, .tf32".
#pragma once

#include "ptx/numbers.cuh"

namespace tilewright::cuda {

/// fp32 elements multiplied with their leading 11 significant bits: by option only.
struct Tf32 {};
/// fp32 elements multiplied with 22 significant bits, as three products of their Tf32 parts.
struct F32 {};

}  // namespace tilewright::cuda

namespace tilewright::cuda::ptx {

/// x rounded to 11 significant bits, ties away from zero.
__device__ __forceinline__ u32 round_to_tf32(u32 x) {
  u32 rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(float_of(x)));
  return rounded;
}

}  // namespace tilewright::cuda::ptx
