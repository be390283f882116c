// Ranges of a mask's floats. The rows that IEEE defines to the bit and that are monotone carry
// bounds over; of all others anything may come.
#pragma once

#include "mods/mask_arithmetic.cuh"
#include "mods/ranges.cuh"

namespace tilewright::cuda::mods {

/// All floats from low to high, infinities included, and NaN where `nan` says so.
template <class Real>
struct RealRange {
  Real low;
  Real high;
  bool nan;
};

template <class Real>
struct RealRanges {
  using Range = RealRange<Real>;
  using M = MaskArithmetic<Real>;

#define TILEWRIGHT_DEVICE static __device__ __forceinline__
  TILEWRIGHT_DEVICE Range any() { return {-infinity(), infinity(), true}; }
  TILEWRIGHT_DEVICE Range single(Real value) {
    return value != value ? any() : Range{value, value, false};
  }
  TILEWRIGHT_DEVICE Range hull(Range a, Range b) {
    return {a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high, a.nan || b.nan};
  }

  TILEWRIGHT_DEVICE Range add(Range a, Range b) {
    return sound({M::add(a.low, b.low), M::add(a.high, b.high), a.nan || b.nan});
  }
  TILEWRIGHT_DEVICE Range sub(Range a, Range b) { return add(a, neg(b)); }
  TILEWRIGHT_DEVICE Range mul(Range a, Range b) {
    const Real p = M::mul(a.low, b.low), q = M::mul(a.low, b.high);
    const Real r = M::mul(a.high, b.low), s = M::mul(a.high, b.high);
    // A corner that is no number leaves its mark in the sum.
    if (p + q + r + s != p + q + r + s) return any();
    return {M::fmin(M::fmin(p, q), M::fmin(r, s)), M::fmax(M::fmax(p, q), M::fmax(r, s)),
            a.nan || b.nan};
  }
  TILEWRIGHT_DEVICE Range div(Range a, Range b) {
    if (b.low <= 0 && b.high >= 0) return any();
    const Real p = a.low / b.low, q = a.low / b.high, r = a.high / b.low, s = a.high / b.high;
    if (p + q + r + s != p + q + r + s) return any();
    return {M::fmin(M::fmin(p, q), M::fmin(r, s)), M::fmax(M::fmax(p, q), M::fmax(r, s)),
            a.nan || b.nan};
  }
  TILEWRIGHT_DEVICE Range neg(Range a) { return {-a.high, -a.low, a.nan}; }
  TILEWRIGHT_DEVICE Range fabs(Range a) {
    if (a.low >= 0) return a;
    if (a.high <= 0) return neg(a);
    return {0, M::fmax(-a.low, a.high), a.nan};
  }
  TILEWRIGHT_DEVICE Range fmin(Range a, Range b) {
    return {M::fmin(a.low, b.low), M::fmin(a.high, b.high), a.nan || b.nan};
  }
  TILEWRIGHT_DEVICE Range fmax(Range a, Range b) {
    return {M::fmax(a.low, b.low), M::fmax(a.high, b.high), a.nan || b.nan};
  }
  TILEWRIGHT_DEVICE Range fclamp(Range a, Range low, Range high) {
    return fmin(fmax(a, low), high);
  }

#define TILEWRIGHT_RISING(row) \
  TILEWRIGHT_DEVICE Range row(Range a) { return {M::row(a.low), M::row(a.high), a.nan}; }
  TILEWRIGHT_RISING(fsign)
  TILEWRIGHT_RISING(relu)
  TILEWRIGHT_RISING(ffloor)
  TILEWRIGHT_RISING(fceil)
  TILEWRIGHT_RISING(fround)
  TILEWRIGHT_RISING(ftrunc)
  TILEWRIGHT_RISING(round_f32)
  TILEWRIGHT_RISING(round_f16)
  TILEWRIGHT_RISING(round_bf16)
#undef TILEWRIGHT_RISING

  TILEWRIGHT_DEVICE Range ffloor_div(Range a, Range b) { return ffloor(div(a, b)); }
  TILEWRIGHT_DEVICE Range ftrunc_div(Range a, Range b) { return ftrunc(div(a, b)); }
  template <class Int>
  TILEWRIGHT_DEVICE Range int_to_float(IntRange<Int> a) {
    return {static_cast<Real>(a.low), static_cast<Real>(a.high), false};
  }
  template <class Int>
  TILEWRIGHT_DEVICE IntRange<Int> float_to_int(Range a) {
    using I = Integers<Int>;
    const IntRange<Int> all = {I::float_to_int(a.low), I::float_to_int(a.high)};
    return a.nan ? IntegerRanges<Int>::hull(all, {0, 0}) : all;
  }

  TILEWRIGHT_DEVICE TruthRange isnan(Range a) { return {true, a.nan}; }
  TILEWRIGHT_DEVICE TruthRange isinf(Range a) {
    return {true, a.low == -infinity() || a.high == infinity()};
  }
  TILEWRIGHT_DEVICE TruthRange flt(Range a, Range b) {
    return {a.nan || b.nan || a.high >= b.low, a.low < b.high};
  }
  TILEWRIGHT_DEVICE TruthRange fle(Range a, Range b) {
    return {a.nan || b.nan || a.high > b.low, a.low <= b.high};
  }
  TILEWRIGHT_DEVICE TruthRange feq(Range a, Range b) {
    const bool same = a.low == a.high && b.low == b.high && a.low == b.low;
    return {a.nan || b.nan || !same, a.low <= b.high && b.low <= a.high};
  }
  TILEWRIGHT_DEVICE TruthRange fne(Range a, Range b) {
    const TruthRange equal = feq(a, b);
    return {equal.can_be_true, equal.can_be_false};
  }
  TILEWRIGHT_DEVICE Range fselect(TruthRange condition, Range yes, Range no) {
    if (!condition.can_be_false) return yes;
    return condition.can_be_true ? hull(yes, no) : no;
  }

 private:
  TILEWRIGHT_DEVICE Real infinity() { return static_cast<Real>(ptx::float_of(0x7f800000u)); }
  TILEWRIGHT_DEVICE Range sound(Range a) { return a.low + a.high == a.low + a.high ? a : any(); }
#undef TILEWRIGHT_DEVICE
};

}  // namespace tilewright::cuda::mods
