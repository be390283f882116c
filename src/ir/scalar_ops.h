#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/half.h"

/// Meanings of the functions that the expressions of ops.def call, for float and double. CUDA has
/// the same names.
namespace tilewright::ir::scalar {

template <class F>
F float_abs(F a) {
  return std::fabs(a);
}
template <class F>
F float_sign(F a) {
  return a > 0 ? F(1) : (a < 0 ? F(-1) : a);
}
template <class F, class G>
F float_min(F a, G b) {
  return a != a ? a : (F(b) != F(b) ? F(b) : (F(b) < a ? F(b) : a));
}
template <class F, class G>
F float_max(F a, G b) {
  return a != a ? a : (F(b) != F(b) ? F(b) : (F(b) > a ? F(b) : a));
}
template <class F>
F float_floor(F a) {
  return std::floor(a);
}
template <class F>
F float_ceil(F a) {
  return std::ceil(a);
}
template <class F>
F float_round_even(F a) {
  return std::nearbyint(a);
}
template <class F>
F float_trunc(F a) {
  return std::trunc(a);
}
template <class F>
F float_floor_div(F a, F b) {
  return std::floor(a / b);
}
template <class F>
F float_trunc_mod(F a, F b) {
  return std::fmod(a, b);
}
template <class F>
F float_floor_mod(F a, F b) {
  const F remainder = std::fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
template <class F>
F float_exp(F a) {
  return std::exp(a);
}
template <class F>
F float_exp2(F a) {
  return std::exp2(a);
}
template <class F>
F float_expm1(F a) {
  return std::expm1(a);
}
template <class F>
F float_log(F a) {
  return std::log(a);
}
template <class F>
F float_log2(F a) {
  return std::log2(a);
}
template <class F>
F float_log1p(F a) {
  return std::log1p(a);
}
template <class F>
F float_sqrt(F a) {
  return std::sqrt(a);
}
template <class F>
F float_pow(F a, F b) {
  return std::pow(a, b);
}
template <class F>
F float_sin(F a) {
  return std::sin(a);
}
template <class F>
F float_cos(F a) {
  return std::cos(a);
}
template <class F>
F float_tan(F a) {
  return std::tan(a);
}
template <class F>
F float_tanh(F a) {
  // The C library's of fp32 is off by more than 2 ulp.
  if constexpr (std::is_same_v<F, float>)
    return static_cast<float>(std::tanh(static_cast<double>(a)));
  return std::tanh(a);
}
template <class F>
F float_sinh(F a) {
  return std::sinh(a);
}
template <class F>
F float_cosh(F a) {
  return std::cosh(a);
}
template <class F>
F float_atan(F a) {
  return std::atan(a);
}
template <class F>
F float_erf(F a) {
  return std::erf(a);
}
template <class F>
F float_sigmoid(F a) {
  if (a >= 0) return 1 / (1 + std::exp(-a));
  const F e = std::exp(a);
  return e / (1 + e);
}
template <class F>
F float_gelu(F a) {
  return F(0.5) * a * std::erfc(-a * F(0.70710678118654752440));
}
template <class F>
F float_silu(F a) {
  return a * float_sigmoid(a);
}
template <class F>
F float_softplus(F a) {
  return (a > 0 ? a : F(0)) + std::log1p(std::exp(-std::fabs(a))) + (a != a ? a : F(0));
}
template <class F>
bool float_isinf(F a) {
  return std::isinf(a);
}
template <class F>
F float_to_f32(F a) {
  return static_cast<F>(static_cast<float>(a));
}

/// Rounds a double to the nearest half directly: through float it would round twice.
inline float round_to_odd(double a) {
  const auto rounded = static_cast<float>(a);
  if (static_cast<double>(rounded) == a || rounded != rounded) return rounded;
  const auto bits = std::bit_cast<std::uint32_t>(rounded);
  const bool away = std::fabs(static_cast<double>(rounded)) > std::fabs(a);
  return std::bit_cast<float>(((away ? bits - 1U : bits)) | 1U);
}
inline float round_to_odd(float a) { return a; }
template <class F>
F float_to_f16(F a) {
  return static_cast<F>(f16_to_float(tilewright::float_to_f16(round_to_odd(a))));
}
template <class F>
F float_to_bf16(F a) {
  return static_cast<F>(bf16_to_float(tilewright::float_to_bf16(round_to_odd(a))));
}

using Int = std::int64_t;
using Unsigned = std::uint64_t;

inline Int wrap_add(Int a, Int b) {
  return static_cast<Int>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}
inline Int wrap_sub(Int a, Int b) {
  return static_cast<Int>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
}
inline Int wrap_mul(Int a, Int b) {
  return static_cast<Int>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
}
inline Int int_abs(Int a) { return a < 0 ? wrap_sub(0, a) : a; }
inline Int int_sign(Int a) { return (a > 0) - (a < 0); }
inline Int int_min(Int a, Int b) { return a < b ? a : b; }
inline Int int_max(Int a, Int b) { return a > b ? a : b; }
inline Int int_trunc_div(Int a, Int b) {
  if (b == 0) return 0;
  return b == -1 ? wrap_sub(0, a) : a / b;
}
inline Int int_trunc_mod(Int a, Int b) { return b == 0 || b == -1 ? 0 : a % b; }
inline Int int_floor_div(Int a, Int b) {
  const Int quotient = int_trunc_div(a, b);
  const Int remainder = int_trunc_mod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? quotient - 1 : quotient;
}
inline Int int_floor_mod(Int a, Int b) {
  const Int remainder = int_trunc_mod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
inline Int int_shl(Int a, Int count) {
  return count < 0 || count > 63 ? 0 : static_cast<Int>(static_cast<Unsigned>(a) << count);
}
inline Int int_shr(Int a, Int count) { return a >> (count < 0 || count > 63 ? 63 : count); }
template <class F>
Int float_to_int(F a) {
  if (a != a) return 0;
  if (a >= F(9223372036854775808.0)) return std::numeric_limits<Int>::max();
  if (a <= F(-9223372036854775808.0)) return std::numeric_limits<Int>::min();
  return static_cast<Int>(a);
}
inline Int wrap_to_i8(Int a) { return static_cast<std::int8_t>(static_cast<Unsigned>(a)); }
inline Int wrap_to_i16(Int a) { return static_cast<std::int16_t>(static_cast<Unsigned>(a)); }
inline Int wrap_to_i32(Int a) { return static_cast<std::int32_t>(static_cast<Unsigned>(a)); }
inline Int wrap_to_u8(Int a) { return static_cast<std::uint8_t>(static_cast<Unsigned>(a)); }

}  // namespace tilewright::ir::scalar
