#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "ir/interpret.h"
#include "ir/op.h"
#include "tilewright/author.h"
#include "tilewright/error.h"
#include "tilewright/program.h"

namespace tilewright {
namespace {

using Expression = std::function<Value(const Score&, const Index&, const Index&)>;

Program traced(const Expression& expression) {
  return trace(
      [&expression](Score s, Index, Index, Index q, Index kv) { return expression(s, q, kv); });
}

/// The value of an expression over a score and two positions.
double value(const Expression& expression, double s = 0, std::int64_t q = 0, std::int64_t kv = 0) {
  const Program program = traced(expression);
  return ir::Interpreter(program.structure(), program.bindings())
      .score(s, {.b = 0, .h = 0, .q = q, .kv = kv});
}

TEST(Handles, ArithmeticAsInCpp) {
  using S = const Score&;
  using I = const Index&;
  EXPECT_EQ(value([](S s, I q, I kv) { return s + q - kv * 2; }, 1, 7, 3), 2);
  EXPECT_EQ(value([](S, I q, I kv) { return q / kv; }, 0, -7, 2), -3);
  EXPECT_EQ(value([](S, I q, I kv) { return q % kv; }, 0, -7, 2), -1);
  EXPECT_EQ(value([](S, I q, I kv) { return floor_div(q, kv); }, 0, -7, 2), -4);
  EXPECT_EQ(value([](S, I q, I kv) { return floor_mod(q, kv); }, 0, -7, 2), 1);
  EXPECT_EQ(value([](S, I q, I kv) { return true_div(q, kv); }, 0, -7, 2), -3.5);
  EXPECT_EQ(value([](S s, I, I) { return s / 2; }, 7), 3.5);
  EXPECT_EQ(value([](S s, I q, I) { return s / q; }, 7, 2), 3.5);
  EXPECT_EQ(value([](S s, I, I) { return s % 4; }, -7), -3);
  EXPECT_EQ(value([](S s, I, I) { return -s + +s; }, 7), 0);
  EXPECT_EQ(value([](S, I q, I kv) { return (q & kv) + (q | kv) * 10 + (q ^ kv) * 100; }, 0, 6, 3),
            2 + 70 + 500);
  EXPECT_EQ(value([](S, I q, I kv) { return (q << kv) + (~q >> 1); }, 0, 6, 3), 48 - 4);
}

TEST(Handles, CompoundAssignment) {
  const auto all = [](Score s, Index, Index, Index q, Index) {
    s += 1;
    s *= q;
    s -= 2;
    s /= 4;
    q += 3;
    q *= 2;
    q -= 1;
    return s + q;
  };
  const Program program = trace(all);
  EXPECT_EQ(ir::Interpreter(program.structure(), program.bindings())
                .score(5, {.b = 0, .h = 0, .q = 3, .kv = 0}),
            (6 * 3 - 2) / 4.0 + 11);
}

TEST(Handles, ComparisonsAndTruthValues) {
  using S = const Score&;
  using I = const Index&;
  const std::vector<std::pair<Expression, bool>> cases{
      {[](S, I q, I kv) { return q < kv; }, true},
      {[](S, I q, I kv) { return q <= kv; }, true},
      {[](S, I q, I kv) { return q > kv; }, false},
      {[](S, I q, I kv) { return q >= kv; }, false},
      {[](S, I q, I kv) { return q == kv; }, false},
      {[](S, I q, I kv) { return q != kv; }, true},
      {[](S s, I q, I) { return s < q; }, true},
      {[](S, I q, I kv) { return (q < kv) & (q == 2); }, true},
      {[](S, I q, I kv) { return (q < kv) ^ (q == 2); }, false},
      {[](S, I q, I kv) { return ~(q < kv) | (q == 3); }, false},
      {[](S, I q, I kv) { return (q < kv) == true; }, true}};
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(value(cases[i].first, 1.5, 2, 5), cases[i].second ? 1 : 0) << i;
}

TEST(Handles, TruthAndIntegersPromoteToTheScore) {
  using S = const Score&;
  using I = const Index&;
  EXPECT_EQ(value([](S s, I q, I kv) { return s + (q >= kv); }, 1.5, 2, 1), 2.5);
  EXPECT_EQ(value([](S s, I q, I kv) { return s + (q >= kv); }, 1.5, 0, 1), 1.5);
  EXPECT_EQ(value([](S, I q, I kv) { return (q > 0) + (kv > 0); }, 0, 1, 1), 2);
  EXPECT_EQ(value([](S, I q, I) { return select(q > 0, 1.5, 2); }, 0, 0), 2);
  EXPECT_EQ(value([](S s, I, I) { return max(s, 3); }, 2.5), 3);
}

TEST(Handles, DemotionsAreRefused) {
  EXPECT_THROW((void)trace([](Score s, Index, Index, Index, Index) { return Index(s) * 2; }),
               Error);
  EXPECT_THROW((void)trace([](Index, Index, Index q, Index) { return Bool(q); }), Error);
  EXPECT_THROW((void)trace([](Index, Index, Index q, Index) -> Value { return q; }), Error);
  EXPECT_THROW((void)trace([](Score s, Index, Index, Index q, Index) { return s & q; }), Error);
  try {
    (void)trace([](Score s, Index, Index, Index q, Index) { return s << q; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.parts().what.find("shl"), std::string::npos);
    EXPECT_EQ(error.parts().got, "(float, int)");
  }
}

TEST(Handles, EveryFunctionHasItsMeaning) {
  using S = const Score&;
  using I = const Index&;
  const double s = 0.7;
  const std::vector<std::pair<Expression, double>> cases{
      {[](S s, I, I) { return abs(-s); }, s},
      {[](S s, I, I) { return sign(-s); }, -1},
      {[](S s, I, I) { return floor(s * 2); }, 1},
      {[](S s, I, I) { return ceil(s * 2); }, 2},
      {[](S s, I, I) { return round(s * 2); }, 1},
      {[](S s, I, I) { return trunc(s * -2); }, -1},
      {[](S s, I, I) { return exp(s); }, std::exp(s)},
      {[](S s, I, I) { return exp2(s); }, std::exp2(s)},
      {[](S s, I, I) { return expm1(s); }, std::expm1(s)},
      {[](S s, I, I) { return log(s); }, std::log(s)},
      {[](S s, I, I) { return log2(s); }, std::log2(s)},
      {[](S s, I, I) { return log1p(s); }, std::log1p(s)},
      {[](S s, I, I) { return sqrt(s); }, std::sqrt(s)},
      {[](S s, I, I) { return rsqrt(s); }, 1 / std::sqrt(s)},
      {[](S s, I, I) { return pow(s, 3); }, s * s * s},
      {[](S s, I, I) { return pow(s, 2.5); }, std::pow(s, 2.5)},
      {[](S s, I, I) { return sin(s); }, std::sin(s)},
      {[](S s, I, I) { return cos(s); }, std::cos(s)},
      {[](S s, I, I) { return tan(s); }, std::tan(s)},
      {[](S s, I, I) { return tanh(s); }, std::tanh(s)},
      {[](S s, I, I) { return sinh(s); }, std::sinh(s)},
      {[](S s, I, I) { return cosh(s); }, std::cosh(s)},
      {[](S s, I, I) { return atan(s); }, std::atan(s)},
      {[](S s, I, I) { return erf(s); }, std::erf(s)},
      {[](S s, I, I) { return sigmoid(s); }, 1 / (1 + std::exp(-s))},
      {[](S s, I, I) { return relu(-s); }, 0},
      {[](S s, I, I) { return gelu(s); }, s * 0.5 * (1 + std::erf(s / std::sqrt(2.0)))},
      {[](S s, I, I) { return silu(s); }, s / (1 + std::exp(-s))},
      {[](S s, I, I) { return softplus(s); }, std::log(1 + std::exp(s))},
      {[](S s, I, I) { return isnan(s / 0.0 - s / 0.0); }, 1},
      {[](S s, I, I) { return isinf(s / 0.0); }, 1},
      {[](S s, I, I) { return min(s, 0.5); }, 0.5},
      {[](S s, I, I) { return clamp(s, 0.1, 0.2); }, 0.2},
      {[](S s, I, I) { return trunc_div(s * -3, 2); }, -1},
      {[](S s, I, I) { return trunc_mod(s * -3, 2); }, std::fmod(s * -3, 2)}};
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_NEAR(value(cases[i].first, s), cases[i].second, 1e-15) << "case " << i;
}

TEST(Handles, EveryFunctionOfTheTableCanBeAuthored) {
  // Reached by operators or by the functions above; each name of ops.def must be one of them.
  const std::string reached =
      " add sub mul true_div neg abs sign min max clamp floor ceil round trunc floor_div floor_mod "
      "trunc_div trunc_mod exp exp2 expm1 log log2 log1p sqrt rsqrt pow sin cos tan tanh sinh cosh "
      "atan erf sigmoid relu gelu silu softplus isnan isinf bit_and bit_or bit_xor bit_not shl shr "
      "lt le eq ne select to_int to_float to_i8 to_i16 to_i32 to_u8 to_f32 to_f16 to_bf16 ";
  for (const ir::OpRow& row : ir::op_rows())
    EXPECT_NE(reached.find(" " + std::string(row.fn) + " "), std::string::npos) << row.fn;
}

TEST(Handles, Casts) {
  using S = const Score&;
  using I = const Index&;
  EXPECT_EQ(value([](S s, I, I) { return cast(s, DType::kI64); }, -2.9), -2);
  EXPECT_EQ(value([](S s, I, I) { return cast(s, DType::kI8); }, 300), 44);
  EXPECT_EQ(value([](S s, I, I) { return cast(s, DType::kU8); }, -1), 255);
  EXPECT_EQ(value([](S, I q, I) { return cast(q, DType::kI16); }, 0, 40000), -25536);
  EXPECT_EQ(value([](S, I q, I) { return cast(q, DType::kI32); }, 0, std::int64_t{1} << 31),
            -2147483648.0);
  EXPECT_EQ(value([](S s, I, I) { return cast(s, DType::kF16); }, 2049), 2048);
  EXPECT_EQ(value([](S s, I, I) { return cast(s, DType::kBF16); }, 257), 256);
  EXPECT_EQ(value([](S s, I, I) { return cast(s, DType::kF32); }, 1 + 0x1p-40), 1);
  EXPECT_EQ(value([](S s, I, I) { return cast(s, DType::kF64); }, 1 + 0x1p-40), 1 + 0x1p-40);
  EXPECT_EQ(value([](S s, I, I) { return cast(s, DType::kBool); }, -0.0), 0);
  EXPECT_EQ(value([](S s, I, I) { return cast(s, DType::kBool); }, std::nan("")), 1);
  EXPECT_EQ(value([](S, I q, I) { return cast(q > 3, DType::kI64) * 5; }, 0, 4), 5);
  EXPECT_EQ(value([](S, I q, I) { return cast(q > 3, DType::kBool); }, 0, 4), 1);
}

TEST(Numbers, NamedOnesRebind) {
  const Number cap("cap", 2.0);
  const Number shift("shift", 3);
  Program program = trace([=](Score s, Index, Index, Index, Index kv) {
    return min(s, cap) + (kv + shift) + max(s, cap) * 0.0;
  });
  EXPECT_EQ(program.number_names(), (std::vector<std::string>{"cap", "shift"}));
  const auto score = [&program](double s) {
    return ir::Interpreter(program.structure(), program.bindings()).score(s, {});
  };
  EXPECT_EQ(score(9), 5);
  const std::string digest = program.structure_digest();
  program.set("cap", 4.0);
  EXPECT_EQ(score(9), 7);
  program.set("shift", 10);
  EXPECT_EQ(score(9), 14);
  program.set("cap", 1);
  EXPECT_EQ(score(9), 11);
  EXPECT_EQ(program.structure_digest(), digest);
  EXPECT_THROW(program.set("shift", 2.5), Error);
  try {
    program.set("cup", 1.0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.parts().expected, "one of cap, shift");
  }
}

TEST(Numbers, OneNameOneValue) {
  EXPECT_THROW((void)trace([](Score s, Index, Index, Index, Index) {
                 return s + Number("a", 1.0) + Number("a", 2.0);
               }),
               Error);
  EXPECT_NO_THROW((void)trace([](Score s, Index, Index, Index, Index) {
    return s + Number("a", std::nan("")) + Number("a", std::nan(""));
  }));
}

TEST(Numbers, CopiesOfAProgramAreIndependent) {
  Program first = trace([](Score s, Index, Index, Index, Index) { return s * Number("a", 2.0); });
  Program second = first;
  second.set("a", 5.0);
  EXPECT_NE(first.content_digest(), second.content_digest());
  EXPECT_EQ(first.structure_digest(), second.structure_digest());
  first = second;
  EXPECT_EQ(first.content_digest(), second.content_digest());
}

// C073: every callable of the right arity is the same mod.
Value causal_function(Index, Index, Index q, Index kv) { return q >= kv; }
struct CausalFunctor {
  Value operator()(Index, Index, Index q, Index kv) const { return q >= kv; }
  static Bool keep(Index, Index, Index q, Index kv) { return q >= kv; }
  Bool bound(Index, Index, Index q, Index kv) const { return q >= kv; }
};

TEST(FieldReports, C073EveryKindOfCallable) {
  const CausalFunctor functor;
  const auto nested = [inner = [](Index q, Index kv) { return q >= kv; }](
                          Index, Index, Index q, Index kv) { return inner(q, kv); };
  const std::vector<std::string> digests{
      trace(causal_function).content_digest(), trace(&CausalFunctor::keep).content_digest(),
      trace(functor).content_digest(), trace(nested).content_digest(),
      trace([&functor](Index b, Index h, Index q, Index kv) {
        return functor.bound(b, h, q, kv);
      }).content_digest()};
  for (const std::string& digest : digests) EXPECT_EQ(digest, digests[0]);
}

// C075: the soft cap stays inside its bound.
TEST(FieldReports, C075SoftCapIsBounded) {
  for (const double cap : {15.0, 0.5}) {
    for (double s = -200; s <= 200; s += 12.5) {
      const double t = value(
          [cap](const Score& x, const Index&, const Index&) { return cap * tanh(x / cap); }, s);
      EXPECT_LE(std::abs(t), cap);
      EXPECT_EQ(t, cap * std::tanh(s / cap));
    }
  }
}

}  // namespace
}  // namespace tilewright
