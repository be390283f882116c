// The integer, truth-value and choice rows of src/ir/ops.def under their ids. Int is i64, the
// meaning, or i32 where every value is proven to fit.
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda::mods {

template <class Int>
struct UnsignedOf;
template <>
struct UnsignedOf<i32> {
  using Type = u32;
};
template <>
struct UnsignedOf<i64> {
  using Type = u64;
};

template <class Int>
struct Integers {
  using Unsigned = typename UnsignedOf<Int>::Type;
  static constexpr Int kBits = 8 * sizeof(Int);
  static constexpr Int kLowest = static_cast<Int>(Unsigned{1} << (kBits - 1));
  static constexpr Int kHighest = static_cast<Int>(~(Unsigned{1} << (kBits - 1)));

#define TILEWRIGHT_DEVICE static __device__ __forceinline__
  TILEWRIGHT_DEVICE Int iadd(Int a, Int b) {
    return static_cast<Int>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  }
  TILEWRIGHT_DEVICE Int isub(Int a, Int b) {
    return static_cast<Int>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
  }
  TILEWRIGHT_DEVICE Int imul(Int a, Int b) {
    return static_cast<Int>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
  }
  TILEWRIGHT_DEVICE Int ineg(Int a) { return isub(0, a); }
  TILEWRIGHT_DEVICE Int iabs(Int a) { return a < 0 ? ineg(a) : a; }
  TILEWRIGHT_DEVICE Int isign(Int a) { return (a > 0) - (a < 0); }
  TILEWRIGHT_DEVICE Int imin(Int a, Int b) { return a < b ? a : b; }
  TILEWRIGHT_DEVICE Int imax(Int a, Int b) { return a > b ? a : b; }
  TILEWRIGHT_DEVICE Int iclamp(Int a, Int low, Int high) { return imin(imax(a, low), high); }

  TILEWRIGHT_DEVICE Int itrunc_div(Int a, Int b) {
    const Int quotient = a / (b == 0 || b == -1 ? 1 : b);
    return b == 0 ? 0 : (b == -1 ? ineg(quotient) : quotient);
  }
  TILEWRIGHT_DEVICE Int itrunc_mod(Int a, Int b) {
    return b == 0 ? 0 : isub(a, imul(itrunc_div(a, b), b));
  }
  TILEWRIGHT_DEVICE Int ifloor_div(Int a, Int b) {
    const Int quotient = itrunc_div(a, b);
    const Int rest = isub(a, imul(quotient, b));
    return b != 0 && rest != 0 && (rest ^ b) < 0 ? quotient - 1 : quotient;
  }
  TILEWRIGHT_DEVICE Int ifloor_mod(Int a, Int b) {
    const Int rest = itrunc_mod(a, b);
    return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
  }

  TILEWRIGHT_DEVICE Int iand(Int a, Int b) { return a & b; }
  TILEWRIGHT_DEVICE Int ior(Int a, Int b) { return a | b; }
  TILEWRIGHT_DEVICE Int ixor(Int a, Int b) { return a ^ b; }
  TILEWRIGHT_DEVICE Int inot(Int a) { return ~a; }
  TILEWRIGHT_DEVICE Int shl(Int a, Int count) {
    const bool inside = count >= 0 && count < kBits;
    return inside ? static_cast<Int>(static_cast<Unsigned>(a) << (count & (kBits - 1))) : 0;
  }
  TILEWRIGHT_DEVICE Int shr(Int a, Int count) {
    return a >> (count < 0 || count >= kBits ? kBits - 1 : count);
  }

  TILEWRIGHT_DEVICE bool ilt(Int a, Int b) { return a < b; }
  TILEWRIGHT_DEVICE bool ile(Int a, Int b) { return a <= b; }
  TILEWRIGHT_DEVICE bool ieq(Int a, Int b) { return a == b; }
  TILEWRIGHT_DEVICE bool ine(Int a, Int b) { return a != b; }
  TILEWRIGHT_DEVICE Int iselect(bool condition, Int yes, Int no) { return condition ? yes : no; }

  TILEWRIGHT_DEVICE Int bool_to_int(bool a) { return a ? 1 : 0; }
  TILEWRIGHT_DEVICE Int wrap_i8(Int a) { return static_cast<signed char>(a); }
  TILEWRIGHT_DEVICE Int wrap_i16(Int a) { return static_cast<short>(a); }
  TILEWRIGHT_DEVICE Int wrap_i32(Int a) { return static_cast<i32>(a); }
  TILEWRIGHT_DEVICE Int wrap_u8(Int a) { return static_cast<u8>(a); }

  TILEWRIGHT_DEVICE bool band(bool a, bool b) { return a && b; }
  TILEWRIGHT_DEVICE bool bor(bool a, bool b) { return a || b; }
  TILEWRIGHT_DEVICE bool bxor(bool a, bool b) { return a != b; }
  TILEWRIGHT_DEVICE bool bnot(bool a) { return !a; }
  TILEWRIGHT_DEVICE bool bselect(bool condition, bool yes, bool no) { return condition ? yes : no; }

  /// Truncates and saturates; NaN gives 0.
  template <class Real>
  TILEWRIGHT_DEVICE Int float_to_int(Real a) {
    const Real limit = static_cast<Real>(Unsigned{1} << (kBits - 1));
    if (a != a) return 0;
    if (a >= limit) return kHighest;
    return a <= -limit ? kLowest : static_cast<Int>(a);
  }
#undef TILEWRIGHT_DEVICE
};

}  // namespace tilewright::cuda::mods
