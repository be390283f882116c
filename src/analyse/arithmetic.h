#pragma once

#include <cmath>
#include <limits>

#include "analyse/interval.h"

/// Policies for analyse::Arithmetic: the C++ type that evaluates end points, and how far a result
/// is moved outwards. `exact` follows rows that IEEE rounds correctly (rounding is monotone, so end
/// points suffice), `approximate` follows functions of the maths library.
namespace tilewright::analyse {

/// Moves both ends outwards by a share of their size and by a floor for numbers near zero.
/// Infinities stay.
inline RealRange widened(RealRange range, double relative, double absolute) {
  const auto margin = [=](double end) { return std::fabs(end) * relative + absolute; };
  if (!range.has_number()) return range;
  return {std::isinf(range.low) ? range.low : range.low - margin(range.low),
          std::isinf(range.high) ? range.high : range.high + margin(range.high), range.nan};
}

struct MaskF32 {
  using Real = float;
  static RealRange exact(RealRange range) { return range; }
  /// 16 ulp: the libraries of all backends stay within 4.
  static RealRange approximate(RealRange range) { return widened(range, 0x1p-19, 0x1p-140); }
};

struct MaskF64 {
  using Real = double;
  static RealRange exact(RealRange range) { return range; }
  static RealRange approximate(RealRange range) { return widened(range, 0x1p-48, 0x1p-1060); }
};

struct AnyScore {
  using Real = double;
  static RealRange exact(RealRange range) { return approximate(range); }
  /// Covers fp32 with or without contraction, its overflow to infinity and its flush to zero.
  static RealRange approximate(RealRange range) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kLargest = std::numeric_limits<float>::max();
    RealRange result = widened(range, 0x1p-19, 0x1p-120);
    if (!result.has_number()) return result;
    if (result.high > kLargest) result.high = kInfinity;
    if (result.low < -kLargest) result.low = -kInfinity;
    return result;
  }
};

}  // namespace tilewright::analyse
