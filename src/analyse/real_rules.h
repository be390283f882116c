#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "analyse/arithmetic.h"
#include "ir/scalar_ops.h"

/// Ranges of the float rows of ops.def that are not monotone. The first argument is a policy of
/// arithmetic.h.
namespace tilewright::analyse::rule {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline bool has_infinity(RealRange a) {
  return a.has_number() && (a.low == -kInfinity || a.high == kInfinity);
}
inline bool has_finite(RealRange a) { return a.low < kInfinity && a.high > -kInfinity; }
inline RealRange with_nan(RealRange a, bool nan) { return {a.low, a.high, a.nan || nan}; }

/// Hull of `operation` at the corners of a x b, in the arithmetic of P. Corners that give NaN are
/// left out: the caller says whether NaN occurs.
template <class P, class Operation>
RealRange at_corners(RealRange a, RealRange b, Operation operation) {
  using Real = typename P::Real;
  RealRange result{kInfinity, -kInfinity, a.nan || b.nan};
  if (!a.has_number() || !b.has_number()) return result;
  for (const double x : std::array{a.low, a.high})
    for (const double y : std::array{b.low, b.high}) {
      const double value = operation(static_cast<Real>(x), static_cast<Real>(y));
      if (value != value) continue;
      result.low = std::min(result.low, value);
      result.high = std::max(result.high, value);
    }
  return result;
}

template <class P>
RealRange add(P, RealRange a, RealRange b) {
  const bool cancels =
      (a.low == -kInfinity && b.high == kInfinity) || (a.high == kInfinity && b.low == -kInfinity);
  if (cancels && a.has_number() && b.has_number()) return kAnyReal;
  return P::exact(at_corners<P>(a, b, [](auto x, auto y) { return x + y; }));
}

template <class P>
RealRange sub(P, RealRange a, RealRange b) {
  return add(P{}, a, {-b.high, -b.low, b.nan});
}

template <class P>
RealRange mul(P, RealRange a, RealRange b) {
  const bool nan = (a.contains(0) && has_infinity(b)) || (b.contains(0) && has_infinity(a));
  RealRange result = with_nan(at_corners<P>(a, b, [](auto x, auto y) { return x * y; }), nan);
  // Corners at infinity hide what 0 gives with the numbers in between.
  if ((a.contains(0) && has_finite(b)) || (b.contains(0) && has_finite(a)))
    result = hull(result, single(0.0));
  return P::exact(result);
}

template <class P>
RealRange div(P, RealRange a, RealRange b) {
  if (!a.has_number() || !b.has_number()) return {kInfinity, -kInfinity, a.nan || b.nan};
  const bool nan = (has_infinity(a) && has_infinity(b)) || (a.contains(0) && b.contains(0));
  // A divisor of either zero gives either infinity.
  if (b.contains(0)) return {-kInfinity, kInfinity, a.nan || b.nan || nan};
  RealRange result = with_nan(at_corners<P>(a, b, [](auto x, auto y) { return x / y; }), nan);
  if (has_infinity(b) && has_finite(a)) result = hull(result, single(0.0));
  return P::exact(result);
}

template <class P>
RealRange fabs(P, RealRange a) {
  if (!a.has_number() || a.low >= 0) return a;
  if (a.high <= 0) return {-a.high, -a.low, a.nan};
  return {0, std::max(-a.low, a.high), a.nan};
}

template <class P>
RealRange fmin(P, RealRange a, RealRange b) {
  return at_corners<P>(a, b, [](auto x, auto y) { return ir::scalar::float_min(x, y); });
}
template <class P>
RealRange fmax(P, RealRange a, RealRange b) {
  return at_corners<P>(a, b, [](auto x, auto y) { return ir::scalar::float_max(x, y); });
}
template <class P>
RealRange fclamp(P, RealRange a, RealRange low, RealRange high) {
  return fmin(P{}, fmax(P{}, a, low), high);
}

template <class P>
RealRange ffloor_div(P, RealRange a, RealRange b) {
  const RealRange quotient = div(P{}, a, b);
  return {std::floor(quotient.low), std::floor(quotient.high), quotient.nan};
}
template <class P>
RealRange ftrunc_div(P, RealRange a, RealRange b) {
  const RealRange quotient = div(P{}, a, b);
  return {std::trunc(quotient.low), std::trunc(quotient.high), quotient.nan};
}

template <class P>
RealRange ffloor_mod(P, RealRange a, RealRange b) {
  if (!a.has_number() || !b.has_number()) return {kInfinity, -kInfinity, a.nan || b.nan};
  const bool nan = a.nan || b.nan || b.contains(0) || has_infinity(a);
  if (a.low >= 0 && b.low > 0 && a.high < b.low) return P::exact({a.low, a.high, nan});
  return P::exact({std::min(b.low, 0.0), std::max(b.high, 0.0), nan});
}

template <class P>
RealRange ftrunc_mod(P, RealRange a, RealRange b) {
  if (!a.has_number() || !b.has_number()) return {kInfinity, -kInfinity, a.nan || b.nan};
  const bool nan = a.nan || b.nan || b.contains(0) || has_infinity(a);
  const double size = std::max(std::fabs(b.low), std::fabs(b.high));
  return P::exact(
      {std::max(std::min(a.low, 0.0), -size), std::min(std::max(a.high, 0.0), size), nan});
}

/// An increasing function that gives NaN below `domain`.
template <class P, class Function>
RealRange increasing_from(RealRange a, double domain, Function function) {
  using Real = typename P::Real;
  const bool nan = a.nan || (a.has_number() && a.low < domain);
  if (!a.has_number() || a.high < domain) return {kInfinity, -kInfinity, nan};
  return P::approximate({static_cast<double>(function(static_cast<Real>(std::max(a.low, domain)))),
                         static_cast<double>(function(static_cast<Real>(a.high))), nan});
}

template <class P>
RealRange log(P, RealRange a) {
  return increasing_from<P>(a, 0, [](auto x) { return ir::scalar::float_log(x); });
}
template <class P>
RealRange log2(P, RealRange a) {
  return increasing_from<P>(a, 0, [](auto x) { return ir::scalar::float_log2(x); });
}
template <class P>
RealRange log1p(P, RealRange a) {
  return increasing_from<P>(a, -1, [](auto x) { return ir::scalar::float_log1p(x); });
}
template <class P>
RealRange sqrt(P, RealRange a) {
  return increasing_from<P>(a, 0, [](auto x) { return ir::scalar::float_sqrt(x); });
}
template <class P>
RealRange rsqrt(P, RealRange a) {
  const RealRange root = sqrt(P{}, a);
  // The root of either zero gives either infinity.
  if (root.contains(0)) return {a.contains(0) ? -kInfinity : 0, kInfinity, root.nan};
  return P::approximate(
      at_corners<P>({1, 1, root.nan}, root, [](auto one, auto x) { return one / x; }));
}

template <class P>
RealRange pow(P, RealRange a, RealRange b) {
  if (b.low == 0 && b.high == 0 && !b.nan) return single(1.0);
  if (!a.has_number() || !b.has_number()) return kAnyReal;
  const auto power = [](auto x, auto y) { return ir::scalar::float_pow(x, y); };
  if (a.low > 0) {
    RealRange result = at_corners<P>(a, b, power);
    // Where an operand passes 1 or 0 the power passes 1.
    if (a.contains(1) || b.contains(0)) result = hull(result, single(1.0));
    return P::approximate(result);
  }
  const bool integer =
      b.low == b.high && std::nearbyint(b.low) == b.low && b.low > 0 && b.low <= 64 && !b.nan;
  if (!integer) return kAnyReal;
  const bool even = std::fmod(b.low, 2) == 0;
  return P::approximate(at_corners<P>(even ? fabs(P{}, a) : a, b, power));
}

inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kLargestReducedAngle = 1e5;
inline constexpr double kAngleMargin = 1e-3;

/// Whether an angle phase + k * period lies in the range, give or take a margin.
inline bool passes_angle(RealRange a, double phase, double period) {
  const double k = std::ceil((a.low - kAngleMargin - phase) / period);
  return phase + k * period <= a.high + kAngleMargin;
}

/// A wave with maxima at `crest` + 2 k pi.
template <class P, class Function>
RealRange wave(RealRange a, double crest, Function function) {
  using Real = typename P::Real;
  if (!a.has_number()) return a;
  const bool nan = a.nan || has_infinity(a);
  if (!(a.low > -kLargestReducedAngle && a.high < kLargestReducedAngle)) return {-1, 1, nan};
  const double first = function(static_cast<Real>(a.low));
  const double last = function(static_cast<Real>(a.high));
  RealRange result = P::approximate({std::min(first, last), std::max(first, last), nan});
  if (passes_angle(a, crest, 2 * kPi)) result.high = 1;
  if (passes_angle(a, crest + kPi, 2 * kPi)) result.low = -1;
  return {std::max(result.low, -1.0), std::min(result.high, 1.0), nan};
}

template <class P>
RealRange sin(P, RealRange a) {
  return wave<P>(a, kPi / 2, [](auto x) { return ir::scalar::float_sin(x); });
}
template <class P>
RealRange cos(P, RealRange a) {
  return wave<P>(a, 0, [](auto x) { return ir::scalar::float_cos(x); });
}
template <class P>
RealRange tan(P, RealRange a) {
  using Real = typename P::Real;
  if (!a.has_number()) return a;
  const bool small = a.low > -kLargestReducedAngle && a.high < kLargestReducedAngle;
  if (!small || passes_angle(a, kPi / 2, kPi))
    return {-kInfinity, kInfinity, a.nan || has_infinity(a)};
  return P::approximate({static_cast<double>(ir::scalar::float_tan(static_cast<Real>(a.low))),
                         static_cast<double>(ir::scalar::float_tan(static_cast<Real>(a.high))),
                         a.nan});
}

template <class P>
RealRange cosh(P, RealRange a) {
  return increasing_from<P>(fabs(P{}, a), 0, [](auto x) { return ir::scalar::float_cosh(x); });
}

/// a * gate(a) with one minimum near `lowest`, decreasing before and increasing after it; -inf
/// gives NaN.
template <class P, class Function>
RealRange valley(RealRange a, RealRange lowest, Function function) {
  using Real = typename P::Real;
  if (!a.has_number()) return a;
  RealRange result = kOnlyNan;
  result.nan = a.nan || a.low == -kInfinity;
  for (const double x : std::array{a.low, a.high}) {
    const double value = function(static_cast<Real>(x));
    result = hull(result, x == -kInfinity ? RealRange{0, 0, true} : RealRange{value, value, false});
  }
  result = P::approximate(result);
  constexpr double kMargin = 0.02;
  if (a.low <= lowest.low + kMargin && a.high >= lowest.low - kMargin)
    result.low = std::min(result.low, lowest.high);
  return result;
}

template <class P>
RealRange gelu(P, RealRange a) {
  // The minimum is -0.16997 at -0.75179.
  return valley<P>(a, {-0.75179, -0.1700, false}, [](auto x) { return ir::scalar::float_gelu(x); });
}
template <class P>
RealRange silu(P, RealRange a) {
  // The minimum is -0.27846 at -1.27846.
  return valley<P>(a, {-1.27846, -0.2785, false}, [](auto x) { return ir::scalar::float_silu(x); });
}

template <class P>
TruthRange isnan(P, RealRange a) {
  return {.can_be_false = a.has_number(), .can_be_true = a.nan};
}
template <class P>
TruthRange isinf(P, RealRange a) {
  const bool only = a.low == a.high && has_infinity(a);
  return {.can_be_false = a.nan || !only, .can_be_true = has_infinity(a)};
}

template <class P>
TruthRange flt(P, RealRange a, RealRange b) {
  const bool numbers = a.has_number() && b.has_number();
  return {.can_be_false = a.nan || b.nan || !numbers || a.high >= b.low,
          .can_be_true = numbers && a.low < b.high};
}
template <class P>
TruthRange fle(P, RealRange a, RealRange b) {
  const bool numbers = a.has_number() && b.has_number();
  return {.can_be_false = a.nan || b.nan || !numbers || a.high > b.low,
          .can_be_true = numbers && a.low <= b.high};
}
template <class P>
TruthRange feq(P, RealRange a, RealRange b) {
  const bool numbers = a.has_number() && b.has_number();
  const bool same = numbers && a.low == a.high && b.low == b.high && a.low == b.low;
  return {.can_be_false = a.nan || b.nan || !same,
          .can_be_true = numbers && a.low <= b.high && b.low <= a.high};
}
template <class P>
TruthRange fne(P, RealRange a, RealRange b) {
  const TruthRange equal = feq(P{}, a, b);
  return {.can_be_false = equal.can_be_true, .can_be_true = equal.can_be_false};
}

template <class P>
IntRange float_to_int(P, RealRange a) {
  using Real = typename P::Real;
  const IntRange zero = single(std::int64_t{0});
  if (!a.has_number()) return zero;
  const IntRange range{ir::scalar::float_to_int(static_cast<Real>(a.low)),
                       ir::scalar::float_to_int(static_cast<Real>(a.high))};
  return a.nan ? hull(range, zero) : range;
}

}  // namespace tilewright::analyse::rule
