// The float rows of src/ir/ops.def as a mask computes them: IEEE, nothing contracted, the same on
// every backend (semantics R3). Real is float, or double for a mask that reads an fp64 table.
//
// Functions of fp32 run in fp64 and are rounded once: the nearest float but for one argument in
// about 2^28, as a good host library has it too.
#pragma once

#include "mods/float_rows.cuh"
#include "mods/uncontracted.cuh"

namespace tilewright::cuda::mods {

template <class Real>
struct MaskArithmetic : FloatRows<Real> {
  using Rows = FloatRows<Real>;
#define TILEWRIGHT_DEVICE static __device__ __forceinline__
  TILEWRIGHT_DEVICE Real add(Real a, Real b) { return sum_alone(a, b); }
  TILEWRIGHT_DEVICE Real sub(Real a, Real b) { return sum_alone(a, -b); }
  TILEWRIGHT_DEVICE Real mul(Real a, Real b) { return product_alone(a, b); }
  TILEWRIGHT_DEVICE Real div(Real a, Real b) { return a / b; }
  TILEWRIGHT_DEVICE Real ffloor_div(Real a, Real b) { return floor(a / b); }
  TILEWRIGHT_DEVICE Real ftrunc_div(Real a, Real b) { return trunc(a / b); }
  TILEWRIGHT_DEVICE Real ftrunc_mod(Real a, Real b) { return fmod(a, b); }
  TILEWRIGHT_DEVICE Real ffloor_mod(Real a, Real b) {
    const Real rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? sum_alone(rest, b) : rest;
  }

  TILEWRIGHT_DEVICE Real sqrt(Real a) { return root(a); }
  TILEWRIGHT_DEVICE Real rsqrt(Real a) { return Real(1) / root(a); }
  TILEWRIGHT_DEVICE Real sigmoid(Real a) {
    if (a >= 0) return Real(1) / sum_alone(Real(1), exp(-a));
    const Real e = exp(a);
    return e / sum_alone(Real(1), e);
  }
  TILEWRIGHT_DEVICE Real gelu(Real a) {
    const double argument = product_alone(-a, Real(0.70710678118654752440));
    return product_alone(product_alone(Real(0.5), a), static_cast<Real>(::erfc(argument)));
  }
  TILEWRIGHT_DEVICE Real silu(Real a) { return product_alone(a, sigmoid(a)); }
  TILEWRIGHT_DEVICE Real softplus(Real a) {
    const Real linear = a > 0 ? a : Real(0);
    const Real sum = sum_alone(linear, log1p(exp(-Rows::fabs(a))));
    return a != a ? a : sum;
  }
  TILEWRIGHT_DEVICE Real pow(Real a, Real b) {
    return static_cast<Real>(::pow(static_cast<double>(a), static_cast<double>(b)));
  }

#define TILEWRIGHT_ROUNDED_ONCE(name) \
  TILEWRIGHT_DEVICE Real name(Real a) { return static_cast<Real>(::name(static_cast<double>(a))); }
  TILEWRIGHT_ROUNDED_ONCE(exp)
  TILEWRIGHT_ROUNDED_ONCE(exp2)
  TILEWRIGHT_ROUNDED_ONCE(expm1)
  TILEWRIGHT_ROUNDED_ONCE(log)
  TILEWRIGHT_ROUNDED_ONCE(log2)
  TILEWRIGHT_ROUNDED_ONCE(log1p)
  TILEWRIGHT_ROUNDED_ONCE(sin)
  TILEWRIGHT_ROUNDED_ONCE(cos)
  TILEWRIGHT_ROUNDED_ONCE(tan)
  TILEWRIGHT_ROUNDED_ONCE(tanh)
  TILEWRIGHT_ROUNDED_ONCE(sinh)
  TILEWRIGHT_ROUNDED_ONCE(cosh)
  TILEWRIGHT_ROUNDED_ONCE(atan)
  TILEWRIGHT_ROUNDED_ONCE(erf)
#undef TILEWRIGHT_ROUNDED_ONCE
#undef TILEWRIGHT_DEVICE
};

}  // namespace tilewright::cuda::mods
