// What the float rows of src/ir/ops.def have in common whatever arithmetic they run in: exact
// functions, comparisons, choices, roundings.
#pragma once

#include "ptx/numbers.cuh"

namespace tilewright::cuda::mods {

/// A double rounded to float so that a second rounding gives what one rounding would have given.
__device__ __forceinline__ float round_to_odd(double a) {
  const float toward_zero = __double2float_rz(a);
  const u32 bits = ptx::bits_of(toward_zero);
  const bool exact = static_cast<double>(toward_zero) == a || a != a;
  return exact ? toward_zero : ptx::float_of(bits | 1);
}
__device__ __forceinline__ float round_to_odd(float a) { return a; }

template <class Real>
struct FloatRows {
#define TILEWRIGHT_DEVICE static __device__ __forceinline__
  TILEWRIGHT_DEVICE Real neg(Real a) { return -a; }
  TILEWRIGHT_DEVICE Real fabs(Real a) { return ptx::magnitude(a); }
  TILEWRIGHT_DEVICE Real fsign(Real a) { return a > 0 ? Real(1) : (a < 0 ? Real(-1) : a); }
  TILEWRIGHT_DEVICE Real fmin(Real a, Real b) {
    return a != a ? a : (b != b ? b : (b < a ? b : a));
  }
  TILEWRIGHT_DEVICE Real fmax(Real a, Real b) {
    return a != a ? a : (b != b ? b : (b > a ? b : a));
  }
  TILEWRIGHT_DEVICE Real fclamp(Real a, Real low, Real high) { return fmin(fmax(a, low), high); }
  TILEWRIGHT_DEVICE Real relu(Real a) { return fmax(a, Real(0)); }
  TILEWRIGHT_DEVICE Real ffloor(Real a) { return floor(a); }
  TILEWRIGHT_DEVICE Real fceil(Real a) { return ceil(a); }
  TILEWRIGHT_DEVICE Real fround(Real a) { return rint(a); }
  TILEWRIGHT_DEVICE Real ftrunc(Real a) { return trunc(a); }

  TILEWRIGHT_DEVICE bool isnan(Real a) { return a != a; }
  TILEWRIGHT_DEVICE bool isinf(Real a) { return a == a && a - a != 0; }
  TILEWRIGHT_DEVICE bool flt(Real a, Real b) { return a < b; }
  TILEWRIGHT_DEVICE bool fle(Real a, Real b) { return a <= b; }
  TILEWRIGHT_DEVICE bool feq(Real a, Real b) { return a == b; }
  TILEWRIGHT_DEVICE bool fne(Real a, Real b) { return a != b; }
  TILEWRIGHT_DEVICE Real fselect(bool condition, Real yes, Real no) { return condition ? yes : no; }

  template <class Int>
  TILEWRIGHT_DEVICE Real int_to_float(Int a) {
    return static_cast<Real>(a);
  }
  TILEWRIGHT_DEVICE Real round_f32(Real a) { return static_cast<float>(a); }
  TILEWRIGHT_DEVICE Real round_f16(Real a) { return ptx::rounded(F16{}, round_to_odd(a)); }
  TILEWRIGHT_DEVICE Real round_bf16(Real a) { return ptx::rounded(Bf16{}, round_to_odd(a)); }
#undef TILEWRIGHT_DEVICE
};

}  // namespace tilewright::cuda::mods
