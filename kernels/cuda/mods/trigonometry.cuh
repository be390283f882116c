// sin, cos and tan of a float without a table in local memory.
//
// x = k pi/2 + rest. Up to 2^28 the rest comes from two fp64 steps; past that from 128 bits of
// 2/pi (Payne and Hanek): an integer times 2^e times 2/pi, modulo 4, needs the bits of 2/pi from
// e - 2 on only.
#pragma once

#include "ptx/integers.cuh"
#include "ptx/numbers.cuh"

namespace tilewright::cuda::mods {

/// |rest| <= pi/4 and k modulo 4, with x = k pi/2 + rest.
struct ReducedAngle {
  double rest;
  u32 quadrant;
};

/// The bits of 2/pi behind the binary point, the highest first.
static __constant__ u32 kTwoOverPi[8] = {0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                         0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};

/// 64 bits of 2/pi from bit `first` on.
__device__ __forceinline__ u64 two_over_pi_bits(u32 first) {
  const u32 word = first / 32, shift = first % 32;
  const u64 high = static_cast<u64>(kTwoOverPi[word]) << 32 | kTwoOverPi[word + 1];
  return shift == 0 ? high : high << shift | kTwoOverPi[word + 2] >> (32 - shift);
}

__device__ __forceinline__ u64 high_product(u64 a, u32 b) {
  return ((a >> 32) * b + ((a & 0xffffffffu) * b >> 32)) >> 32;
}

__device__ __forceinline__ ReducedAngle reduce_large_angle(float x) {
  const u32 bits = ptx::bits_of(x);
  const u32 mantissa = (bits & 0x7fffffu) | 0x800000u;
  const u32 first = (bits >> 23 & 0xffu) - 150 - 2;
  const u64 product =
      mantissa * two_over_pi_bits(first) + high_product(two_over_pi_bits(first + 64), mantissa);
  const u64 quadrant = (product + (u64{1} << 61)) >> 62;
  const double part = static_cast<double>(static_cast<i64>(product - (quadrant << 62)));
  const double rest = part * (1.5707963267948966 / 4611686018427387904.0);
  const bool negative = bits >> 31 != 0;
  const u32 turned = static_cast<u32>(negative ? 0 - quadrant : quadrant);
  return {negative ? -rest : rest, turned & 3};
}

__device__ __forceinline__ ReducedAngle reduce_angle(float x) {
  const float size = x < 0 ? -x : x;
  if (size >= 268435456.0f && size <= 3.402823466e38f) return reduce_large_angle(x);
  const double turns = rint(static_cast<double>(x) * 0.63661977236758134);
  double rest = fma(-turns, 1.5707963267948966, static_cast<double>(x));
  rest = fma(-turns, 6.123233995736766e-17, rest);
  // An infinite or undefined angle leaves NaN in `rest`, which every quadrant passes on.
  const bool finite = size <= 268435456.0f;
  return {rest, static_cast<u32>(static_cast<i32>(finite ? turns : 0.0)) & 3};
}

/// Taylor sums, good to 2^-40 for |x| <= pi/4.
__device__ __forceinline__ double sine_near_zero(double x) {
  const double s = x * x;
  double p = fma(s, 2.7557319223985893e-06, -1.9841269841269841e-04);
  p = fma(s, p, 8.3333333333333332e-03);
  p = fma(s, p, -1.6666666666666666e-01);
  return fma(x * s, fma(s * s * s * s, -2.505210838544172e-08, p), x);
}
__device__ __forceinline__ double cosine_near_zero(double x) {
  const double s = x * x;
  double p = fma(s, -2.7557319223985888e-07, 2.4801587301587302e-05);
  p = fma(s, p, -1.3888888888888889e-03);
  p = fma(s, p, 4.1666666666666664e-02);
  p = fma(s, p, -0.5);
  return fma(s * s * s, s * s * s * 2.08767569878681e-09, fma(s, p, 1.0));
}

/// sin(x + quarter_turns pi/2)
__device__ __forceinline__ double sine_of_turned(float x, u32 quarter_turns) {
  const ReducedAngle angle = reduce_angle(x);
  const u32 quadrant = angle.quadrant + quarter_turns;
  const double value =
      (quadrant & 1) != 0 ? cosine_near_zero(angle.rest) : sine_near_zero(angle.rest);
  return (quadrant & 2) != 0 ? -value : value;
}

__device__ __forceinline__ float sine(float x) { return static_cast<float>(sine_of_turned(x, 0)); }
__device__ __forceinline__ float cosine(float x) {
  return static_cast<float>(sine_of_turned(x, 1));
}
__device__ __forceinline__ float tangent(float x) {
  return static_cast<float>(sine_of_turned(x, 0) / sine_of_turned(x, 1));
}

}  // namespace tilewright::cuda::mods
