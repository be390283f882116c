#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tilewright/tensor.h"

#pragma GCC visibility push(default)

namespace tilewright {

namespace author {
struct Access;
}

/// A symbolic value inside a mod: a float, an integer or a truth value. Handles are 8 bytes, live
/// only while their mod is traced, and carry no data; operators on them record what the mod does.
///
/// `if`, `?:`, `&&`, `||` and `!` work on them through path forking: the tracer runs the function
/// once per path. `&`, `|` and `~` on truth values combine without forking.
class Value {
 public:
  Value(double number);  // NOLINT(google-explicit-constructor): numbers mix with symbols
  Value(float number) : Value(static_cast<double>(number)) {}  // NOLINT
  Value(bool truth);                                           // NOLINT
  template <class Int>
    requires(std::is_integral_v<Int> && !std::is_same_v<Int, bool>)
  Value(Int number) : Value(FromInteger{}, static_cast<std::int64_t>(number)) {}  // NOLINT

  /// Decides a branch: forks the trace. Throws Error past 64 paths or where a loop never ends.
  explicit operator bool() const;

 protected:
  struct FromInteger {};
  struct FromNode {};
  Value(FromInteger, std::int64_t number);
  Value(FromNode, std::uint32_t node, std::uint32_t trace) : node_(node), trace_(trace) {}

 private:
  friend struct author::Access;
  std::uint32_t node_ = 0;
  std::uint32_t trace_ = 0;
};

/// A floating score. Integers and truth values promote (True adds 1.0).
class Score : public Value {
 public:
  using Value::Value;
  Score(const Value& value);  // NOLINT: promotion is the meaning (semantics R9)
  Score& operator+=(const Value& other);
  Score& operator-=(const Value& other);
  Score& operator*=(const Value& other);
  Score& operator/=(const Value& other);
};

/// A 64-bit integer: a position, a head, an entry of an integer table. Throws Error when made from
/// a float.
class Index : public Value {
 public:
  using Value::Value;
  Index(const Value& value);  // NOLINT
  Index& operator+=(const Value& other);
  Index& operator-=(const Value& other);
  Index& operator*=(const Value& other);
};

/// A truth value. Throws Error when made from a number.
class Bool : public Value {
 public:
  using Value::Value;
  Bool(const Value& value);  // NOLINT
};

// Arithmetic. `/` and `%` on integers truncate as in C++; floor_div and floor_mod round down
// (semantics R9).
Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator%(const Value& a, const Value& b);
Value operator-(const Value& a);
Value operator+(const Value& a);

// Bitwise on integers; logical, without forking, on truth values.
Value operator&(const Value& a, const Value& b);
Value operator|(const Value& a, const Value& b);
Value operator^(const Value& a, const Value& b);
Value operator~(const Value& a);
Value operator<<(const Value& a, const Value& count);
Value operator>>(const Value& a, const Value& count);

Bool operator==(const Value& a, const Value& b);
Bool operator!=(const Value& a, const Value& b);
Bool operator<(const Value& a, const Value& b);
Bool operator<=(const Value& a, const Value& b);
Bool operator>(const Value& a, const Value& b);
Bool operator>=(const Value& a, const Value& b);

/// `yes` where condition holds, else `no`; both are computed, neither path is forked.
Value select(const Value& condition, const Value& yes, const Value& no);

Value min(const Value& a, const Value& b);
Value max(const Value& a, const Value& b);
Value clamp(const Value& x, const Value& low, const Value& high);
Value abs(const Value& x);
Value sign(const Value& x);
Value floor(const Value& x);
Value ceil(const Value& x);
Value round(const Value& x);
Value trunc(const Value& x);
Value true_div(const Value& a, const Value& b);
Value floor_div(const Value& a, const Value& b);
Value floor_mod(const Value& a, const Value& b);
Value trunc_div(const Value& a, const Value& b);
Value trunc_mod(const Value& a, const Value& b);
Value exp(const Value& x);
Value exp2(const Value& x);
Value expm1(const Value& x);
Value log(const Value& x);
Value log2(const Value& x);
Value log1p(const Value& x);
Value sqrt(const Value& x);
Value rsqrt(const Value& x);
Value pow(const Value& base, const Value& exponent);
Value sin(const Value& x);
Value cos(const Value& x);
Value tan(const Value& x);
Value tanh(const Value& x);
Value sinh(const Value& x);
Value cosh(const Value& x);
Value atan(const Value& x);
Value erf(const Value& x);
Value sigmoid(const Value& x);
Value relu(const Value& x);
Value gelu(const Value& x);
Value silu(const Value& x);
Value softplus(const Value& x);
Bool isnan(const Value& x);
Bool isinf(const Value& x);

/// Casts. Float to integer truncates toward zero, saturates, and sends NaN to 0; integer narrowing
/// wraps; f16 and bf16 round to nearest even and stay floats.
Value cast(const Value& x, DType dtype);

/// A number that the prepared attention can rebind by name without retracing. Outside a trace it is
/// only its value. Without a name it is a number like any other in a mod.
class Number {
 public:
  Number(std::string name, double value);
  Number(std::string name, std::int64_t value);
  Number(std::string name, int value) : Number(std::move(name), static_cast<std::int64_t>(value)) {}
  Number(double value) : Number(std::string(), value) {}  // NOLINT: an unnamed number
  template <class Int>
    requires(std::is_integral_v<Int> && !std::is_same_v<Int, bool>)
  Number(Int value) : Number(std::string(), static_cast<std::int64_t>(value)) {}  // NOLINT
  operator Value() const;                                                         // NOLINT

  /// The same number, called `name` unless it has a name. Throws Error where it is a float.
  Number integer_named(std::string_view name) const;
  /// The same number as a float, called `name` unless it has a name.
  Number real_named(std::string_view name) const;
  const std::string& name() const noexcept { return name_; }
  bool is_float() const noexcept { return is_float_; }
  double real() const noexcept {
    return is_float_ ? float_value_ : static_cast<double>(int_value_);
  }
  std::int64_t integer() const noexcept { return int_value_; }

 private:
  std::string name_;
  bool is_float_;
  double float_value_ = 0;
  std::int64_t int_value_ = 0;
};

class Vector;

/// A captured tensor with some subscripts applied. Turns into a Value once every axis has one.
class Subscript {
 public:
  Subscript operator[](const Value& index) const;
  operator Value() const;  // NOLINT
  operator Score() const;  // NOLINT
  operator Index() const;  // NOLINT
  operator Bool() const;   // NOLINT
  explicit operator bool() const;
  /// The last axis as a vector of fixed length. Throws Error unless exactly one axis is left.
  operator Vector() const;  // NOLINT

 private:
  friend class Capture;
  void require_current() const;
  Subscript(std::uint32_t capture, std::uint32_t trace) : capture_(capture), trace_(trace) {}
  std::uint32_t capture_;
  std::uint32_t trace_;
  std::vector<Value> indices_;
};

/// A tensor that a mod reads: any dtype, rank and strides. Captured by reference: its values are
/// read at the call. A negative subscript wraps once; a live one outside the tensor raises at the
/// call (semantics R8).
class Capture {
 public:
  /// `name` is how a prepared attention rebinds the tensor and how errors call it.
  Capture(std::string name, TensorView view);

  Subscript operator[](const Value& index) const;
  template <class... Indices>
  Value operator()(const Indices&... indices) const {
    return load({Value(indices)...});
  }
  operator Value() const { return load({}); }  // NOLINT: rank 0
  /// All entries of a rank-1 tensor. Throws Error for another rank.
  Vector entries() const;
  const TensorView& view() const noexcept { return view_; }
  const std::string& name() const noexcept { return name_; }

 private:
  Value load(std::initializer_list<Value> indices) const;
  Subscript begin() const;
  std::string name_;
  TensorView view_;
};

/// A short vector: one axis of a captured tensor, its length fixed when traced. At most 512
/// entries.
class Vector {
 public:
  explicit Vector(std::vector<Value> entries);
  std::size_t size() const noexcept { return entries_.size(); }
  const Value& operator[](std::size_t i) const;
  const std::vector<Value>& entries() const noexcept { return entries_; }

  // Friends, so that they are candidates only where an operand is a Vector already: a[q] + b[kv]
  // adds values.
  friend Vector operator+(const Vector& a, const Vector& b);
  friend Vector operator-(const Vector& a, const Vector& b);
  friend Vector operator*(const Vector& a, const Vector& b);
  friend Vector operator/(const Vector& a, const Vector& b);
  friend Vector operator*(const Vector& a, const Value& b);
  friend Vector operator+(const Vector& a, const Value& b);

 private:
  std::vector<Value> entries_;
};

Value dot(const Vector& a, const Vector& b);
Value sum(const Vector& a);
Value mean(const Vector& a);
Value max(const Vector& a);

}  // namespace tilewright

#pragma GCC visibility pop
