// Ranges of integers and truth values, and the rows of src/ir/ops.def over them: what a producer
// classifies tiles by. A range is a superset of the values, never empty.
//
// In 64 bits a result that may wrap is everything. In 32 bits every value is proven to fit, so a
// bound that leaves 32 bits may be cut to them.
#pragma once

#include "mods/integers.cuh"

namespace tilewright::cuda::mods {

template <class Int>
struct IntRange {
  Int low;
  Int high;
};

struct TruthRange {
  bool can_be_false;
  bool can_be_true;
};

template <class Int>
struct IntegerRanges {
  using Range = IntRange<Int>;
  using I = Integers<Int>;
  static constexpr bool kNarrow = sizeof(Int) == 4;

#define TILEWRIGHT_DEVICE static __device__ __forceinline__
  TILEWRIGHT_DEVICE Range any() { return {I::kLowest, I::kHighest}; }
  TILEWRIGHT_DEVICE Range single(Int value) { return {value, value}; }
  TILEWRIGHT_DEVICE bool is_single(Range a) { return a.low == a.high; }
  TILEWRIGHT_DEVICE Range hull(Range a, Range b) {
    return {I::imin(a.low, b.low), I::imax(a.high, b.high)};
  }
  TILEWRIGHT_DEVICE Range within(i64 low, i64 high) {
    if constexpr (!kNarrow) return {low, high};
    const i64 lowest = I::kLowest, highest = I::kHighest;
    return {static_cast<Int>(low < lowest ? lowest : (low > highest ? highest : low)),
            static_cast<Int>(high < lowest ? lowest : (high > highest ? highest : high))};
  }

  TILEWRIGHT_DEVICE Range iadd(Range a, Range b) {
    if constexpr (kNarrow) return within(i64{a.low} + b.low, i64{a.high} + b.high);
    const Range sum = {I::iadd(a.low, b.low), I::iadd(a.high, b.high)};
    const bool wraps = ((a.low ^ sum.low) & (b.low ^ sum.low)) < 0 ||
                       ((a.high ^ sum.high) & (b.high ^ sum.high)) < 0;
    return wraps ? any() : sum;
  }
  TILEWRIGHT_DEVICE Range isub(Range a, Range b) {
    if constexpr (kNarrow) return within(i64{a.low} - b.high, i64{a.high} - b.low);
    const Range rest = {I::isub(a.low, b.high), I::isub(a.high, b.low)};
    const bool wraps = ((a.low ^ b.high) & (a.low ^ rest.low)) < 0 ||
                       ((a.high ^ b.low) & (a.high ^ rest.high)) < 0;
    return wraps ? any() : rest;
  }
  TILEWRIGHT_DEVICE Range imul(Range a, Range b) {
    if constexpr (kNarrow) {
      const i64 p = i64{a.low} * b.low, q = i64{a.low} * b.high;
      const i64 r = i64{a.high} * b.low, s = i64{a.high} * b.high;
      using W = Integers<i64>;
      return within(W::imin(W::imin(p, q), W::imin(r, s)), W::imax(W::imax(p, q), W::imax(r, s)));
    } else {
      constexpr i64 kHalf = i64{1} << 31;
      const bool small = a.low > -kHalf && a.high < kHalf && b.low > -kHalf && b.high < kHalf;
      if (!small) return any();
      return corners(a, b, [](Int x, Int y) { return x * y; });
    }
  }
  TILEWRIGHT_DEVICE Range ineg(Range a) { return isub(single(0), a); }
  TILEWRIGHT_DEVICE Range iabs(Range a) {
    const Range minus = ineg(a);
    if (a.low >= 0) return a;
    if (a.high <= 0) return a.low == I::kLowest ? any() : minus;
    return a.low == I::kLowest ? any() : Range{0, I::imax(minus.high, a.high)};
  }
  TILEWRIGHT_DEVICE Range isign(Range a) { return {I::isign(a.low), I::isign(a.high)}; }
  TILEWRIGHT_DEVICE Range imin(Range a, Range b) {
    return {I::imin(a.low, b.low), I::imin(a.high, b.high)};
  }
  TILEWRIGHT_DEVICE Range imax(Range a, Range b) {
    return {I::imax(a.low, b.low), I::imax(a.high, b.high)};
  }
  TILEWRIGHT_DEVICE Range iclamp(Range a, Range low, Range high) {
    return imin(imax(a, low), high);
  }

  /// Divisors that include 0 or are negative are rare enough to be given up.
  TILEWRIGHT_DEVICE Range ifloor_div(Range a, Range b) {
    if (b.low <= 0) return any();
    return corners(a, b, [](Int x, Int y) { return I::ifloor_div(x, y); });
  }
  TILEWRIGHT_DEVICE Range itrunc_div(Range a, Range b) {
    if (b.low <= 0) return any();
    return corners(a, b, [](Int x, Int y) { return I::itrunc_div(x, y); });
  }
  TILEWRIGHT_DEVICE Range ifloor_mod(Range a, Range b) {
    if (b.low <= 0) return any();
    if (a.low >= 0 && a.high < b.low) return a;
    if (is_single(b) && I::ifloor_div(a.low, b.low) == I::ifloor_div(a.high, b.low)) {
      return {I::ifloor_mod(a.low, b.low), I::ifloor_mod(a.high, b.low)};
    }
    return {0, b.high - 1};
  }
  TILEWRIGHT_DEVICE Range itrunc_mod(Range a, Range b) {
    if (b.low <= 0) return any();
    if (a.low >= 0) return ifloor_mod(a, b);
    return {-(b.high - 1), a.high <= 0 ? 0 : b.high - 1};
  }

  TILEWRIGHT_DEVICE Range iand(Range a, Range b) {
    if (is_single(a) && is_single(b)) return single(a.low & b.low);
    if (a.low >= 0 && b.low >= 0) return {0, I::imin(a.high, b.high)};
    return a.low >= 0 ? Range{0, a.high} : (b.low >= 0 ? Range{0, b.high} : any());
  }
  TILEWRIGHT_DEVICE Range ior(Range a, Range b) {
    if (is_single(a) && is_single(b)) return single(a.low | b.low);
    if (a.low < 0 || b.low < 0) return any();
    return {I::imax(a.low, b.low), bits_up_to(I::imax(a.high, b.high))};
  }
  TILEWRIGHT_DEVICE Range ixor(Range a, Range b) {
    if (is_single(a) && is_single(b)) return single(a.low ^ b.low);
    if (a.low < 0 || b.low < 0) return any();
    return {0, bits_up_to(I::imax(a.high, b.high))};
  }
  TILEWRIGHT_DEVICE Range inot(Range a) { return {~a.high, ~a.low}; }
  TILEWRIGHT_DEVICE Range shl(Range a, Range count) {
    if (is_single(a) && is_single(count)) return single(I::shl(a.low, count.low));
    if (!is_single(count) || count.low < 0 || count.low >= I::kBits - 1) return any();
    return imul(a, single(Int{1} << count.low));
  }
  TILEWRIGHT_DEVICE Range shr(Range a, Range count) {
    if (count.low < 0 || count.high >= I::kBits) return hull(a, {a.low >> (I::kBits - 1), 0});
    return corners(a, count, [](Int x, Int y) { return x >> y; });
  }

  TILEWRIGHT_DEVICE Range bool_to_int(TruthRange a) {
    return {a.can_be_false ? 0 : 1, a.can_be_true ? 1 : 0};
  }
  TILEWRIGHT_DEVICE Range wrap_i8(Range a) { return wrapped_to(a, -128, 127); }
  TILEWRIGHT_DEVICE Range wrap_i16(Range a) { return wrapped_to(a, -32768, 32767); }
  TILEWRIGHT_DEVICE Range wrap_i32(Range a) { return wrapped_to(a, -2147483647 - 1, 2147483647); }
  TILEWRIGHT_DEVICE Range wrap_u8(Range a) { return wrapped_to(a, 0, 255); }

  TILEWRIGHT_DEVICE TruthRange ilt(Range a, Range b) { return {a.high >= b.low, a.low < b.high}; }
  TILEWRIGHT_DEVICE TruthRange ile(Range a, Range b) { return {a.high > b.low, a.low <= b.high}; }
  TILEWRIGHT_DEVICE TruthRange ieq(Range a, Range b) {
    const bool same = is_single(a) && is_single(b) && a.low == b.low;
    return {!same, a.low <= b.high && b.low <= a.high};
  }
  TILEWRIGHT_DEVICE TruthRange ine(Range a, Range b) { return bnot(ieq(a, b)); }

  TILEWRIGHT_DEVICE TruthRange truth(bool value) { return {!value, value}; }
  TILEWRIGHT_DEVICE TruthRange bnot(TruthRange a) { return {a.can_be_true, a.can_be_false}; }
  TILEWRIGHT_DEVICE TruthRange band(TruthRange a, TruthRange b) {
    return {a.can_be_false || b.can_be_false, a.can_be_true && b.can_be_true};
  }
  TILEWRIGHT_DEVICE TruthRange bor(TruthRange a, TruthRange b) {
    return {a.can_be_false && b.can_be_false, a.can_be_true || b.can_be_true};
  }
  TILEWRIGHT_DEVICE TruthRange bxor(TruthRange a, TruthRange b) {
    return {(a.can_be_false && b.can_be_false) || (a.can_be_true && b.can_be_true),
            (a.can_be_true && b.can_be_false) || (a.can_be_false && b.can_be_true)};
  }
  TILEWRIGHT_DEVICE Range iselect(TruthRange condition, Range yes, Range no) {
    if (!condition.can_be_false) return yes;
    return condition.can_be_true ? hull(yes, no) : no;
  }
  TILEWRIGHT_DEVICE TruthRange bselect(TruthRange condition, TruthRange yes, TruthRange no) {
    return {
        (condition.can_be_true && yes.can_be_false) || (condition.can_be_false && no.can_be_false),
        (condition.can_be_true && yes.can_be_true) || (condition.can_be_false && no.can_be_true)};
  }

 private:
  /// Right where `row` is monotone in each operand apart.
  template <class Row>
  TILEWRIGHT_DEVICE Range corners(Range a, Range b, Row row) {
    const Int p = row(a.low, b.low), q = row(a.low, b.high);
    const Int r = row(a.high, b.low), s = row(a.high, b.high);
    return {I::imin(I::imin(p, q), I::imin(r, s)), I::imax(I::imax(p, q), I::imax(r, s))};
  }
  /// The smallest 2^k - 1 that is not below `value` >= 0.
  TILEWRIGHT_DEVICE Int bits_up_to(Int value) {
#pragma unroll
    for (int shift = 1; shift < I::kBits; shift *= 2) value |= value >> shift;
    return value;
  }
  TILEWRIGHT_DEVICE Range wrapped_to(Range a, i64 low, i64 high) {
    if (a.low >= low && a.high <= high) return a;
    return {static_cast<Int>(low), static_cast<Int>(high)};
  }
#undef TILEWRIGHT_DEVICE
};

}  // namespace tilewright::cuda::mods
