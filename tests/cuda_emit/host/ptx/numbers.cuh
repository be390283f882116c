// Stands for kernels/cuda/ptx/numbers.cuh when the host compiler translates emitted mods.
#pragma once

#include <cstring>

#include "base/half.h"
#include "ptx/integers.cuh"

namespace tilewright::cuda {

struct Bf16 {};
struct F16 {};

}  // namespace tilewright::cuda

namespace tilewright::cuda::ptx {

inline u32 bits_of(float x) {
  u32 bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(u32 bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
inline float exp2_fast(float x) { return exp2f(x); }
inline float reciprocal(float x) { return 1.0f / x; }
inline float tanh_fast(float x) { return tanhf(x); }
inline float fused(float a, float b, float c) { return fmaf(a, b, c); }
inline float smaller_or_nan(float a, float b) { return a != a ? a : (b != b || b < a ? b : a); }
inline float larger_or_nan(float a, float b) { return a != a ? a : (b != b || b > a ? b : a); }
inline float magnitude(float x) { return fabsf(x); }
inline double magnitude(double x) { return fabs(x); }
inline float with_sign_of(float size, float sign) { return copysignf(size, sign); }
inline float to_float(Bf16, u16 bits) { return bf16_to_float(bits); }
inline float to_float(F16, u16 bits) { return f16_to_float(bits); }
inline float rounded(F16, float x) { return f16_to_float(float_to_f16(x)); }
inline float rounded(Bf16, float x) { return bf16_to_float(float_to_bf16(x)); }

}  // namespace tilewright::cuda::ptx
