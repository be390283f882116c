#pragma once

#include <cstdint>
#include <limits>

#include "ir/op.h"

namespace tilewright::analyse {

/// All integers from low to high; never empty.
struct IntRange {
  std::int64_t low;
  std::int64_t high;
  bool is_single() const noexcept { return low == high; }
  bool contains(std::int64_t value) const noexcept { return low <= value && value <= high; }
  bool operator==(const IntRange&) const = default;
};

/// All floats from low to high, infinities included, and NaN where `nan` says so. low > high: no
/// number at all. Zero stands for both zeros.
struct RealRange {
  double low;
  double high;
  bool nan;
  bool has_number() const noexcept { return low <= high; }
  bool contains(double value) const noexcept { return low <= value && value <= high; }
  bool operator==(const RealRange&) const = default;
};

/// Which truth values occur; at least one.
struct TruthRange {
  bool can_be_false;
  bool can_be_true;
  bool is_true() const noexcept { return !can_be_false; }
  bool is_false() const noexcept { return !can_be_true; }
  bool operator==(const TruthRange&) const = default;
};

/// A superset of the values of one node; the node's type says which member counts.
union Interval {
  IntRange integer;
  RealRange real;
  TruthRange truth;

  Interval() = default;  // left uninitialised: evaluation fills arrays of these
  Interval(IntRange range) : integer(range) {}  // NOLINT(google-explicit-constructor)
  Interval(RealRange range) : real(range) {}    // NOLINT(google-explicit-constructor)
  Interval(TruthRange range) : truth(range) {}  // NOLINT(google-explicit-constructor)
};

inline constexpr IntRange kAnyInt{std::numeric_limits<std::int64_t>::min(),
                                  std::numeric_limits<std::int64_t>::max()};
inline constexpr RealRange kAnyReal{-std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::infinity(), true};
inline constexpr RealRange kOnlyNan{std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(), true};
inline constexpr TruthRange kAnyTruth{true, true};

inline constexpr IntRange single(std::int64_t value) { return {value, value}; }
inline constexpr RealRange single(double value) {
  return value != value ? kOnlyNan : RealRange{value, value, false};
}
inline constexpr TruthRange single(bool value) { return {!value, value}; }

/// The smallest range around both.
inline constexpr IntRange hull(IntRange a, IntRange b) {
  return {a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}
inline constexpr RealRange hull(RealRange a, RealRange b) {
  return {a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high, a.nan || b.nan};
}
inline constexpr TruthRange hull(TruthRange a, TruthRange b) {
  return {a.can_be_false || b.can_be_false, a.can_be_true || b.can_be_true};
}
Interval hull(ir::Type type, const Interval& a, const Interval& b);

/// What a node of this type can hold at most.
Interval any(ir::Type type);

/// 0 or false alone: what a load gives where its guard does not hold.
Interval zero_of(ir::Type type);

/// Arithmetic in which a program is evaluated; a range holds for that arithmetic.
enum class Arithmetic : std::uint8_t {
  kMaskF32,  ///< IEEE fp32 without contraction: masks
  kMaskF64,  ///< the same in fp64: masks that read an fp64 capture
  kScore,    ///< anything from fp32 with contraction up to fp64: scores, whatever backend runs them
};

}  // namespace tilewright::analyse
