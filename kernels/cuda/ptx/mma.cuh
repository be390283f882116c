// Warp-level matrix instructions, sm_80 and later. PTX ISA: "Warp Level Matrix Multiply-Accumulate
// Instructions, mma.sync.m16n8k16 and m16n8k8".
//
// Operand A is a 16 x k fragment of four words a thread, B a k x 8 fragment of two; `d` holds two
// columns of row lane / 4, then the same columns of the row eight below.
#pragma once

#include "ptx/tensor_float.cuh"

namespace tilewright::cuda::ptx {

/// Four words of an A fragment.
struct MatrixA {
  u32 word[4];
};
/// Two words of a B fragment.
struct MatrixB {
  u32 word[2];
};

/// d += a b for one 16 x 8 x 16 step of bf16.
__device__ __forceinline__ void multiply_add(Bf16, float* d, const MatrixA& a, const MatrixB& b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]),
        "r"(b.word[1]));
}

/// d += a b for one 16 x 8 x 16 step of fp16.
__device__ __forceinline__ void multiply_add(F16, float* d, const MatrixA& a, const MatrixB& b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]),
        "r"(b.word[1]));
}

/// d += a b for one 16 x 8 x 8 step of TF32; the low 13 bits of the words are ignored.
__device__ __forceinline__ void multiply_add(Tf32, float* d, const MatrixA& a, const MatrixB& b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]),
        "r"(b.word[1]));
}

}  // namespace tilewright::cuda::ptx
