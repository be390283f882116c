// Force-included before emitted mods and kernels/cuda/mods when the host compiler translates them:
// what CUDA C++ has built in.
#pragma once

#include <math.h>

#include <cstdint>

#define __device__
#define __constant__
#define __forceinline__ inline

inline float __fadd_rn(float a, float b) { return a + b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline float rsqrtf(float a) { return 1.0f / sqrtf(a); }
inline float __double2float_rz(double a) {
  const float nearest = static_cast<float>(a);
  if (!(fabs(static_cast<double>(nearest)) > fabs(a))) return nearest;
  return nextafterf(nearest, 0.0f);
}
