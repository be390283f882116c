#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "analyse/interval.h"
#include "ir/scalar_ops.h"

/// Ranges of the integer rows of ops.def: 64-bit, wrapping. Where a result may wrap the range is
/// everything.
namespace tilewright::analyse::rule {

inline constexpr std::int64_t kIntMin = kAnyInt.low;
inline constexpr std::int64_t kIntMax = kAnyInt.high;

inline IntRange iadd(IntRange a, IntRange b) {
  IntRange sum{};
  if (__builtin_add_overflow(a.low, b.low, &sum.low) ||
      __builtin_add_overflow(a.high, b.high, &sum.high))
    return kAnyInt;
  return sum;
}

inline IntRange isub(IntRange a, IntRange b) {
  IntRange difference{};
  if (__builtin_sub_overflow(a.low, b.high, &difference.low) ||
      __builtin_sub_overflow(a.high, b.low, &difference.high))
    return kAnyInt;
  return difference;
}

inline IntRange imul(IntRange a, IntRange b) {
  std::array<std::int64_t, 4> corner{};
  if (__builtin_mul_overflow(a.low, b.low, &corner[0]) ||
      __builtin_mul_overflow(a.low, b.high, &corner[1]) ||
      __builtin_mul_overflow(a.high, b.low, &corner[2]) ||
      __builtin_mul_overflow(a.high, b.high, &corner[3]))
    return kAnyInt;
  const auto [low, high] = std::minmax_element(corner.begin(), corner.end());
  return {*low, *high};
}

inline IntRange ineg(IntRange a) { return isub(single(std::int64_t{0}), a); }

inline IntRange iabs(IntRange a) {
  if (a.low == kIntMin) return a.is_single() ? a : kAnyInt;
  if (a.low >= 0) return a;
  if (a.high <= 0) return {-a.high, -a.low};
  return {0, std::max(-a.low, a.high)};
}

inline IntRange imin(IntRange a, IntRange b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high)};
}
inline IntRange imax(IntRange a, IntRange b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}
inline IntRange iclamp(IntRange a, IntRange low, IntRange high) { return imin(imax(a, low), high); }

/// Hull of `operation` at the four corners; right where it is monotone in each operand apart.
template <class Operation>
IntRange at_corners(IntRange a, IntRange b, Operation operation) {
  const IntRange low = {std::min(operation(a.low, b.low), operation(a.low, b.high)),
                        std::max(operation(a.low, b.low), operation(a.low, b.high))};
  const IntRange high = {std::min(operation(a.high, b.low), operation(a.high, b.high)),
                         std::max(operation(a.high, b.low), operation(a.high, b.high))};
  return hull(low, high);
}

/// Hull of `part` over the negative, the zero and the positive divisors; a zero divisor gives 0.
template <class Part>
IntRange by_divisor_sign(IntRange b, Part part) {
  const bool negative = b.low < 0;
  const bool positive = b.high > 0;
  IntRange all = single(std::int64_t{0});
  bool some = b.contains(0);
  const auto add = [&](IntRange range) {
    all = some ? hull(all, range) : range;
    some = true;
  };
  if (negative) add(part(IntRange{b.low, std::min<std::int64_t>(b.high, -1)}));
  if (positive) add(part(IntRange{std::max<std::int64_t>(b.low, 1), b.high}));
  return all;
}

inline IntRange ifloor_div(IntRange a, IntRange b) {
  if (a.low == kIntMin && b.contains(-1)) return kAnyInt;
  return by_divisor_sign(b, [a](IntRange divisor) {
    return at_corners(a, divisor, [](auto x, auto y) { return ir::scalar::int_floor_div(x, y); });
  });
}

inline IntRange itrunc_div(IntRange a, IntRange b) {
  if (a.low == kIntMin && b.contains(-1)) return kAnyInt;
  return by_divisor_sign(b, [a](IntRange divisor) {
    return at_corners(a, divisor, [](auto x, auto y) { return ir::scalar::int_trunc_div(x, y); });
  });
}

/// a mod b, rounding down, for positive divisors.
inline IntRange floor_mod_positive(IntRange a, IntRange b) {
  if (a.low >= 0 && a.high < b.low) return a;
  if (b.is_single() &&
      ir::scalar::int_floor_div(a.low, b.low) == ir::scalar::int_floor_div(a.high, b.low))
    return {ir::scalar::int_floor_mod(a.low, b.low), ir::scalar::int_floor_mod(a.high, b.low)};
  const IntRange below{0, b.high - 1};
  return a.low >= 0 ? IntRange{0, std::min(below.high, a.high)} : below;
}

inline IntRange ifloor_mod(IntRange a, IntRange b) {
  return by_divisor_sign(b, [a](IntRange divisor) {
    if (divisor.low > 0) return floor_mod_positive(a, divisor);
    if (divisor.is_single() && a.is_single())
      return single(ir::scalar::int_floor_mod(a.low, divisor.low));
    return IntRange{divisor.low + 1, 0};
  });
}

/// |a| mod |b| for a of one sign; the sign of the result is the sign of a.
inline IntRange trunc_mod_of_sign(IntRange a, IntRange divisor) {
  if (a.low >= 0) return floor_mod_positive(a, divisor);
  if (a.low == kIntMin) return {-(divisor.high - 1), 0};
  const IntRange mirrored = floor_mod_positive({-a.high, -a.low}, divisor);
  return {-mirrored.high, -mirrored.low};
}

inline IntRange itrunc_mod(IntRange a, IntRange b) {
  return by_divisor_sign(b, [a](IntRange divisor) {
    if (divisor.low == kIntMin)
      return IntRange{std::min<std::int64_t>(a.low, 0), std::max<std::int64_t>(a.high, 0)};
    const IntRange size = divisor.low > 0 ? divisor : IntRange{-divisor.high, -divisor.low};
    if (a.low >= 0 || a.high <= 0) return trunc_mod_of_sign(a, size);
    return hull(trunc_mod_of_sign({a.low, 0}, size), trunc_mod_of_sign({0, a.high}, size));
  });
}

/// Bits that every value of a range shares.
struct KnownBits {
  std::uint64_t ones = 0;
  std::uint64_t zeros = 0;
};

inline KnownBits known_bits(IntRange a) {
  const auto low = static_cast<std::uint64_t>(a.low);
  const auto high = static_cast<std::uint64_t>(a.high);
  const int shared = std::countl_zero(low ^ high);
  if (shared == 0) return {};
  const std::uint64_t prefix = shared == 64 ? ~0ULL : ~(~0ULL >> shared);
  return {.ones = low & prefix, .zeros = ~low & prefix};
}

inline IntRange range_of(KnownBits bits) {
  constexpr std::uint64_t kSign = 1ULL << 63;
  std::uint64_t low = bits.ones;
  std::uint64_t high = ~bits.zeros;
  if (((bits.ones | bits.zeros) & kSign) == 0) {
    low |= kSign;
    high &= ~kSign;
  }
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

inline IntRange intersect(IntRange a, IntRange b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

inline IntRange iand(IntRange a, IntRange b) {
  const KnownBits x = known_bits(a);
  const KnownBits y = known_bits(b);
  IntRange result = range_of({.ones = x.ones & y.ones, .zeros = x.zeros | y.zeros});
  if (a.low >= 0) result = intersect(result, {0, a.high});
  if (b.low >= 0) result = intersect(result, {0, b.high});
  return result;
}

inline IntRange ior(IntRange a, IntRange b) {
  const KnownBits x = known_bits(a);
  const KnownBits y = known_bits(b);
  IntRange result = range_of({.ones = x.ones | y.ones, .zeros = x.zeros & y.zeros});
  if (a.low >= 0 && b.low >= 0) result.low = std::max({result.low, a.low, b.low});
  return result;
}

inline IntRange ixor(IntRange a, IntRange b) {
  const KnownBits x = known_bits(a);
  const KnownBits y = known_bits(b);
  return range_of({.ones = (x.ones & y.zeros) | (x.zeros & y.ones),
                   .zeros = (x.ones & y.ones) | (x.zeros & y.zeros)});
}

inline IntRange shl(IntRange a, IntRange count) {
  if (!count.is_single()) {
    if (count.low < 0 || count.high > 62) return kAnyInt;
    return hull(shl(a, single(count.low)), shl(a, single(count.high)));
  }
  if (count.low < 0 || count.low > 63) return single(std::int64_t{0});
  if (a.is_single()) return single(ir::scalar::int_shl(a.low, count.low));
  if (count.low == 63) return kAnyInt;
  return imul(a, single(std::int64_t{1} << count.low));
}

inline IntRange shr(IntRange a, IntRange count) {
  const IntRange inside{std::clamp<std::int64_t>(count.low, 0, 63),
                        std::clamp<std::int64_t>(count.high, 0, 63)};
  // A count outside the width shifts as far as 63 does.
  const IntRange effective = count.low < 0 ? IntRange{0, 63} : inside;
  return at_corners(a, effective, [](auto x, auto y) { return ir::scalar::int_shr(x, y); });
}

template <class Narrow>
IntRange wrap_to(IntRange a) {
  constexpr std::int64_t kLow = std::numeric_limits<Narrow>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<Narrow>::max();
  if (a.low >= kLow && a.high <= kHigh) return a;
  const auto width = static_cast<std::uint64_t>(a.high) - static_cast<std::uint64_t>(a.low);
  const std::int64_t low = static_cast<Narrow>(static_cast<std::uint64_t>(a.low));
  const std::int64_t high = static_cast<Narrow>(static_cast<std::uint64_t>(a.high));
  const bool one_period = width <= static_cast<std::uint64_t>(kHigh - kLow) && low <= high;
  return one_period ? IntRange{low, high} : IntRange{kLow, kHigh};
}

inline IntRange wrap_i8(IntRange a) { return wrap_to<std::int8_t>(a); }
inline IntRange wrap_i16(IntRange a) { return wrap_to<std::int16_t>(a); }
inline IntRange wrap_i32(IntRange a) { return wrap_to<std::int32_t>(a); }
inline IntRange wrap_u8(IntRange a) { return wrap_to<std::uint8_t>(a); }

inline IntRange bool_to_int(TruthRange a) {
  return {a.can_be_false ? 0 : 1, a.can_be_true ? 1 : 0};
}

inline TruthRange ilt(IntRange a, IntRange b) {
  return {.can_be_false = a.high >= b.low, .can_be_true = a.low < b.high};
}
inline TruthRange ile(IntRange a, IntRange b) {
  return {.can_be_false = a.high > b.low, .can_be_true = a.low <= b.high};
}
inline TruthRange ieq(IntRange a, IntRange b) {
  return {.can_be_false = !(a.is_single() && a == b),
          .can_be_true = a.low <= b.high && b.low <= a.high};
}
inline TruthRange ine(IntRange a, IntRange b) {
  const TruthRange equal = ieq(a, b);
  return {.can_be_false = equal.can_be_true, .can_be_true = equal.can_be_false};
}

}  // namespace tilewright::analyse::rule
