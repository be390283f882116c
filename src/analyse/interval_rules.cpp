#include "analyse/interval_rules.h"

#include "analyse/arithmetic.h"
#include "analyse/integer_rules.h"
#include "analyse/real_rules.h"
#include "analyse/truth_rules.h"
#include "base/check.h"
#include "ir/scalar_ops.h"

namespace tilewright::analyse {

namespace {

/// The operand as the range that its letter of the signature names.
template <char kLetter>
auto range_of(const Interval& value) {
  if constexpr (kLetter == 'f')
    return value.real;
  else if constexpr (kLetter == 'i')
    return value.integer;
  else
    return value.truth;
}

/// Letter of operand i; 0 past the operands that an author writes.
constexpr char letter(const char* signature, std::size_t i, std::size_t size) {
  return i < size && signature[i] != 'g' ? signature[i] : '\0';
}

template <char kA, char kB, char kC, class Rule>
Interval call_own(Rule rule, const Interval& a, const Interval& b, const Interval& c) {
  if constexpr (kB == '\0')
    return rule(range_of<kA>(a));
  else if constexpr (kC == '\0')
    return rule(range_of<kA>(a), range_of<kB>(b));
  else
    return rule(range_of<kA>(a), range_of<kB>(b), range_of<kC>(c));
}

/// Rows that IEEE or integer arithmetic defines to the bit; all others come from a maths library.
constexpr bool is_exact(ir::Op op) {
  using enum ir::Op;
  switch (op) {
    case neg:
    case fsign:
    case ffloor:
    case fceil:
    case fround:
    case ftrunc:
    case relu:
    case round_f32:
    case round_f16:
    case round_bf16:
      return true;
    default:
      return false;
  }
}

/// Float to float, monotone: the end points carry over.
template <class P, class Function>
RealRange monotone_real(ir::Op op, RealRange a, Function function, bool rising) {
  using Real = typename P::Real;
  if (!a.has_number()) return a;
  const double first = function(static_cast<Real>(rising ? a.low : a.high));
  const double last = function(static_cast<Real>(rising ? a.high : a.low));
  const RealRange result{first, last, a.nan};
  return is_exact(op) ? result : P::approximate(result);
}

template <class P, char kFrom, char kResult, class Function>
Interval monotone(ir::Op op, const Interval& a, Function function, bool rising) {
  if constexpr (kFrom == 'f' && kResult == 'f') {
    return monotone_real<P>(op, a.real, function, rising);
  } else if constexpr (kFrom == 'i' && kResult == 'i') {
    return IntRange{function(rising ? a.integer.low : a.integer.high),
                    function(rising ? a.integer.high : a.integer.low)};
  } else {
    static_assert(kFrom == 'i' && kResult == 'f', "no monotone rule between these types");
    return P::exact({static_cast<double>(function(a.integer.low)),
                     static_cast<double>(function(a.integer.high)), false});
  }
}

constexpr char kLetter_f = 'f';
constexpr char kLetter_i = 'i';

/// Rules of float rows need the arithmetic; the others are plain functions. Both are called alike.
namespace rule_of {
#define TILEWRIGHT_FORWARD(id)                       \
  template <class P, class... Ranges>                \
  auto id(Ranges... ranges) {                        \
    if constexpr (requires { rule::id(ranges...); }) \
      return rule::id(ranges...);                    \
    else                                             \
      return rule::id(P{}, ranges...);               \
  }
#define TILEWRIGHT_FORWARD_own(id) TILEWRIGHT_FORWARD(id)
#define TILEWRIGHT_FORWARD_up(id)
#define TILEWRIGHT_FORWARD_down(id)
#define TILEWRIGHT_OP(id, fn, result, signature, expression, interval, derivative, edge) \
  TILEWRIGHT_FORWARD_##interval(id)
#include "ir/ops.def"
#undef TILEWRIGHT_OP
#undef TILEWRIGHT_FORWARD_own
#undef TILEWRIGHT_FORWARD_up
#undef TILEWRIGHT_FORWARD_down
#undef TILEWRIGHT_FORWARD
}  // namespace rule_of

template <class P>
Interval apply(ir::Op op, const Interval& x, const Interval& y, const Interval& z) {
  using namespace ir::scalar;  // NOLINT: expressions of ops.def name these functions
  // base/half.h has functions of these names that yield bits: the meanings must hide them.
  using ir::scalar::float_to_bf16;
  using ir::scalar::float_to_f16;
  const auto int_to_float = [](Int value) { return static_cast<typename P::Real>(value); };
#define TILEWRIGHT_LETTER(signature, i) letter(signature, i, sizeof(signature) - 1)
#define TILEWRIGHT_RULE_own(id, result, signature, expression)               \
  call_own<TILEWRIGHT_LETTER(signature, 0), TILEWRIGHT_LETTER(signature, 1), \
           TILEWRIGHT_LETTER(signature, 2)>(                                 \
      [](auto... ranges) { return rule_of::id<P>(ranges...); }, x, y, z)
#define TILEWRIGHT_RULE_up(id, result, signature, expression)     \
  monotone<P, TILEWRIGHT_LETTER(signature, 0), kLetter_##result>( \
      op, x, [&](auto a) { return expression; }, true)
#define TILEWRIGHT_RULE_down(id, result, signature, expression)   \
  monotone<P, TILEWRIGHT_LETTER(signature, 0), kLetter_##result>( \
      op, x, [&](auto a) { return expression; }, false)
#define TILEWRIGHT_OP(id, fn, result, signature, expression, interval, derivative, edge) \
  case ir::Op::id:                                                                       \
    return TILEWRIGHT_RULE_##interval(id, result, signature, expression);
  switch (op) {
#include "ir/ops.def"
    default:
      break;
  }
#undef TILEWRIGHT_OP
#undef TILEWRIGHT_RULE_down
#undef TILEWRIGHT_RULE_up
#undef TILEWRIGHT_RULE_own
#undef TILEWRIGHT_LETTER
  (void)int_to_float;
  TILEWRIGHT_CHECK(!"a leaf has no interval rule");
  return {};
}

template <class P>
RealRange rounded_in(RealRange range) {
  if (!range.has_number()) return range;
  return P::exact({static_cast<double>(static_cast<typename P::Real>(range.low)),
                   static_cast<double>(static_cast<typename P::Real>(range.high)), range.nan});
}

}  // namespace

Interval apply_rule(Arithmetic arithmetic, ir::Op op, const Interval& a, const Interval& b,
                    const Interval& c) {
  switch (arithmetic) {
    case Arithmetic::kMaskF32:
      return apply<MaskF32>(op, a, b, c);
    case Arithmetic::kMaskF64:
      return apply<MaskF64>(op, a, b, c);
    case Arithmetic::kScore:
      break;
  }
  return apply<AnyScore>(op, a, b, c);
}

RealRange rounded(Arithmetic arithmetic, RealRange range) {
  if (arithmetic == Arithmetic::kMaskF32) return rounded_in<MaskF32>(range);
  return arithmetic == Arithmetic::kMaskF64 ? rounded_in<MaskF64>(range)
                                            : rounded_in<AnyScore>(range);
}

Interval zero_of(ir::Type type) {
  if (type == ir::Type::kFloat) return single(0.0);
  return type == ir::Type::kInt ? Interval(single(std::int64_t{0})) : Interval(single(false));
}

Interval any(ir::Type type) {
  if (type == ir::Type::kFloat) return kAnyReal;
  return type == ir::Type::kInt ? Interval(kAnyInt) : Interval(kAnyTruth);
}

Interval hull(ir::Type type, const Interval& a, const Interval& b) {
  if (type == ir::Type::kFloat) return hull(a.real, b.real);
  return type == ir::Type::kInt ? Interval(hull(a.integer, b.integer))
                                : Interval(hull(a.truth, b.truth));
}

}  // namespace tilewright::analyse
