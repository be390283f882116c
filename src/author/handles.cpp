#include "author/access.h"
#include "tilewright/author.h"
#include "tilewright/error.h"

namespace tilewright {

using author::Access;
using author::call;
using tracing::Recorder;

namespace {

ir::Type type_of(const Value& value) {
  return Recorder::current().graph().type(Access::node(value));
}

bool both_integers(const Value& a, const Value& b) {
  return type_of(a) != ir::Type::kFloat && type_of(b) != ir::Type::kFloat;
}

Value promoted(const Value& value, ir::Type type) {
  return Access::wrap(Recorder::current().graph().promote(Access::node(value), type));
}

}  // namespace

Value::Value(double number)
    : node_(Recorder::current().number(number)), trace_(Recorder::current().id()) {}
Value::Value(bool truth)
    : node_(Recorder::current().graph().literal(truth)), trace_(Recorder::current().id()) {}
Value::Value(FromInteger, std::int64_t number)
    : node_(Recorder::current().number(number)), trace_(Recorder::current().id()) {}

Value::operator bool() const {
  Recorder& recorder = Recorder::current();
  ir::NodeId condition = Access::node(*this);
  if (recorder.graph().type(condition) != ir::Type::kBool)
    condition = Access::node(*this != Value(0));
  return recorder.decide(condition);
}

Score::Score(const Value& value) : Value(promoted(value, ir::Type::kFloat)) {}
Index::Index(const Value& value) : Value(promoted(value, ir::Type::kInt)) {}
Bool::Bool(const Value& value) : Value(promoted(value, ir::Type::kBool)) {}

Score& Score::operator+=(const Value& other) { return *this = Score(*this + other); }
Score& Score::operator-=(const Value& other) { return *this = Score(*this - other); }
Score& Score::operator*=(const Value& other) { return *this = Score(*this * other); }
Score& Score::operator/=(const Value& other) { return *this = Score(*this / other); }
Index& Index::operator+=(const Value& other) { return *this = Index(*this + other); }
Index& Index::operator-=(const Value& other) { return *this = Index(*this - other); }
Index& Index::operator*=(const Value& other) { return *this = Index(*this * other); }

Value operator+(const Value& a, const Value& b) { return call("add", {a, b}); }
Value operator-(const Value& a, const Value& b) { return call("sub", {a, b}); }
Value operator*(const Value& a, const Value& b) { return call("mul", {a, b}); }
Value operator/(const Value& a, const Value& b) {
  return call(both_integers(a, b) ? "trunc_div" : "true_div", {a, b});
}
Value operator%(const Value& a, const Value& b) { return call("trunc_mod", {a, b}); }
Value operator-(const Value& a) { return call("neg", {a}); }
Value operator+(const Value& a) { return a; }

Value operator&(const Value& a, const Value& b) { return call("bit_and", {a, b}); }
Value operator|(const Value& a, const Value& b) { return call("bit_or", {a, b}); }
Value operator^(const Value& a, const Value& b) { return call("bit_xor", {a, b}); }
Value operator~(const Value& a) { return call("bit_not", {a}); }
Value operator<<(const Value& a, const Value& count) { return call("shl", {a, count}); }
Value operator>>(const Value& a, const Value& count) { return call("shr", {a, count}); }

Bool operator==(const Value& a, const Value& b) { return call("eq", {a, b}); }
Bool operator!=(const Value& a, const Value& b) { return call("ne", {a, b}); }
Bool operator<(const Value& a, const Value& b) { return call("lt", {a, b}); }
Bool operator<=(const Value& a, const Value& b) { return call("le", {a, b}); }
Bool operator>(const Value& a, const Value& b) { return call("lt", {b, a}); }
Bool operator>=(const Value& a, const Value& b) { return call("le", {b, a}); }

Value select(const Value& condition, const Value& yes, const Value& no) {
  return call("select", {condition, yes, no});
}

Value min(const Value& a, const Value& b) { return call("min", {a, b}); }
Value max(const Value& a, const Value& b) { return call("max", {a, b}); }
Value clamp(const Value& x, const Value& low, const Value& high) {
  return call("clamp", {x, low, high});
}
Value abs(const Value& x) { return call("abs", {x}); }
Value sign(const Value& x) { return call("sign", {x}); }
Value floor(const Value& x) { return call("floor", {x}); }
Value ceil(const Value& x) { return call("ceil", {x}); }
Value round(const Value& x) { return call("round", {x}); }
Value trunc(const Value& x) { return call("trunc", {x}); }
Value true_div(const Value& a, const Value& b) { return call("true_div", {a, b}); }
Value floor_div(const Value& a, const Value& b) { return call("floor_div", {a, b}); }
Value floor_mod(const Value& a, const Value& b) { return call("floor_mod", {a, b}); }
Value trunc_div(const Value& a, const Value& b) { return call("trunc_div", {a, b}); }
Value trunc_mod(const Value& a, const Value& b) { return call("trunc_mod", {a, b}); }
Value exp(const Value& x) { return call("exp", {x}); }
Value exp2(const Value& x) { return call("exp2", {x}); }
Value expm1(const Value& x) { return call("expm1", {x}); }
Value log(const Value& x) { return call("log", {x}); }
Value log2(const Value& x) { return call("log2", {x}); }
Value log1p(const Value& x) { return call("log1p", {x}); }
Value sqrt(const Value& x) { return call("sqrt", {x}); }
Value rsqrt(const Value& x) { return call("rsqrt", {x}); }
Value pow(const Value& base, const Value& exponent) { return call("pow", {base, exponent}); }
Value sin(const Value& x) { return call("sin", {x}); }
Value cos(const Value& x) { return call("cos", {x}); }
Value tan(const Value& x) { return call("tan", {x}); }
Value tanh(const Value& x) { return call("tanh", {x}); }
Value sinh(const Value& x) { return call("sinh", {x}); }
Value cosh(const Value& x) { return call("cosh", {x}); }
Value atan(const Value& x) { return call("atan", {x}); }
Value erf(const Value& x) { return call("erf", {x}); }
Value sigmoid(const Value& x) { return call("sigmoid", {x}); }
Value relu(const Value& x) { return call("relu", {x}); }
Value gelu(const Value& x) { return call("gelu", {x}); }
Value silu(const Value& x) { return call("silu", {x}); }
Value softplus(const Value& x) { return call("softplus", {x}); }
Bool isnan(const Value& x) { return call("isnan", {x}); }
Bool isinf(const Value& x) { return call("isinf", {x}); }

Value cast(const Value& x, DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return Score(x);
    case DType::kF32:
      return call("to_f32", {x});
    case DType::kF16:
      return call("to_f16", {x});
    case DType::kBF16:
      return call("to_bf16", {x});
    case DType::kBool:
      return type_of(x) == ir::Type::kBool ? x : Value(x != Value(0));
    default:
      break;
  }
  const Value integer = type_of(x) == ir::Type::kInt ? x : call("to_int", {x});
  switch (dtype) {
    case DType::kI8:
      return call("to_i8", {integer});
    case DType::kI16:
      return call("to_i16", {integer});
    case DType::kI32:
      return call("to_i32", {integer});
    case DType::kU8:
      return call("to_u8", {integer});
    default:
      return integer;
  }
}

Number::Number(std::string name, double value)
    : name_(std::move(name)), is_float_(true), float_value_(value) {}
Number::Number(std::string name, std::int64_t value)
    : name_(std::move(name)), is_float_(false), int_value_(value) {}

Number::operator Value() const {
  if (name_.empty()) return is_float_ ? Value(float_value_) : Value(int_value_);
  const ir::Type type = is_float_ ? ir::Type::kFloat : ir::Type::kInt;
  return Access::wrap(
      Recorder::current().named_number(name_, type, {.real = float_value_, .integer = int_value_}));
}

Number Number::integer_named(std::string_view name) const {
  if (is_float_) {
    throw Error({.code = ErrorCode::kInvalidArgument,
                 .what = "a count or distance is given as a float",
                 .where = std::string(name),
                 .expected = "an integer",
                 .got = std::to_string(float_value_),
                 .hint = {}});
  }
  Number number = *this;
  if (number.name_.empty()) number.name_ = name;
  return number;
}

Number Number::real_named(std::string_view name) const {
  return {name_.empty() ? std::string(name) : name_, real()};
}

}  // namespace tilewright
