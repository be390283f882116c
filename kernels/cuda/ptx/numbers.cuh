// Scalar arithmetic that has no operator in C++. PTX ISA: "Floating Point Instructions, cvt".
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda {

/// Element types of operands, as tags.
struct Bf16 {};
struct F16 {};

}  // namespace tilewright::cuda

namespace tilewright::cuda::ptx {

/// 2^x on the special-function unit, relative error below 2^-22, subnormal results flushed.
__device__ __forceinline__ float exp2_fast(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// log2(x), absolute error below 2^-22 near 1.
__device__ __forceinline__ float log2_fast(float x) {
  float result;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// 1/x, relative error below 2^-22.
__device__ __forceinline__ float reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// tanh on the special-function unit, relative error about 2^-11: the fast form, by option only.
__device__ __forceinline__ float tanh_fast(float x) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// The larger operand; a NaN loses against a number.
__device__ __forceinline__ float larger(float a, float b) {
  float result;
  asm("max.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

/// The smaller and the larger operand; a NaN wins.
__device__ __forceinline__ float smaller_or_nan(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ float larger_or_nan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

__device__ __forceinline__ float fused(float a, float b, float c) {
  float result;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}

__device__ __forceinline__ u32 bits_of(float x) {
  u32 bits;
  asm("mov.b32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

__device__ __forceinline__ float float_of(u32 bits) {
  float x;
  asm("mov.b32 %0, %1;" : "=f"(x) : "r"(bits));
  return x;
}

/// |x|, of a NaN too.
__device__ __forceinline__ float magnitude(float x) { return float_of(bits_of(x) & 0x7fffffffu); }
__device__ __forceinline__ double magnitude(double x) {
  double result;
  asm("abs.f64 %0, %1;" : "=d"(result) : "d"(x));
  return result;
}

/// |size| with the sign of `sign`.
__device__ __forceinline__ float with_sign_of(float size, float sign) {
  float result;
  asm("copysign.f32 %0, %1, %2;" : "=f"(result) : "f"(sign), "f"(size));
  return result;
}

/// The lowest `count` bits set; all of them from 32 on.
__device__ __forceinline__ u32 low_bits(u32 count) {
  u32 mask;
  asm("bmsk.clamp.b32 %0, 0, %1;" : "=r"(mask) : "r"(count));
  return mask;
}

/// Two values rounded to nearest even, `low` in the lower half.
__device__ __forceinline__ u32 pack(Bf16, float low, float high) {
  u32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

__device__ __forceinline__ u32 pack(F16, float low, float high) {
  u32 packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

__device__ __forceinline__ float to_float(Bf16, u16 bits) {
  return float_of(static_cast<u32>(bits) << 16);
}

__device__ __forceinline__ float to_float(F16, u16 bits) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(bits));
  return result;
}

/// x rounded to nearest even in another type.
__device__ __forceinline__ float rounded(F16, float x) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return to_float(F16{}, bits);
}
__device__ __forceinline__ float rounded(Bf16, float x) {
  return float_of(pack(Bf16{}, x, 0.0f) << 16);
}

}  // namespace tilewright::cuda::ptx
