// Sums, products and roots that no compiler may fuse with their neighbours.
#pragma once

namespace tilewright::cuda::mods {

__device__ __forceinline__ float sum_alone(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double sum_alone(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ float product_alone(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double product_alone(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ float root(float a) { return __fsqrt_rn(a); }
__device__ __forceinline__ double root(double a) { return __dsqrt_rn(a); }

}  // namespace tilewright::cuda::mods
