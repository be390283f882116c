// T07: the meaning of the user's function.

#include <functional>
#include <utility>
#include <vector>

#include "field_reports/report.h"

namespace tilewright::cases {
namespace {

TEST(FieldReport, C063FloorDivisionOfNegativeOperands) {
  const Program program = trace([](Index, Index, Index q, Index kv) {
    return (floor_div(q - 68, 4) == floor_div(kv - 68, 4)) &
           (floor_mod(q - 64, 4) != floor_mod(kv - 65, 4));
  });
  const Extents extents = square(1, 2, 192, 16);
  EXPECT_EQ(live_pairs(program, square(1, 1, 192, 16)), 576);
  const Program truncating = trace([](Index, Index, Index q, Index kv) {
    return ((q - 68) / 4 == (kv - 68) / 4) & ((q - 64) % 4 != (kv - 65) % 4);
  });
  EXPECT_EQ(live_pairs(truncating, square(1, 1, 192, 16)), 590);
  const Operands operands = random_operands(extents, DType::kF32, 63);
  expect_meaning(program, operands.inputs());
  expect_meaning(truncating, operands.inputs());
}

TEST(FieldReport, C065TranscendentalsOfHalfCaptures) {
  const Operands operands = random_operands(square(1, 1, 33, 16), DType::kF32, 65);
  using Function = Value (*)(const Value&);
  for (const DType dtype : {DType::kF16, DType::kBF16})
    for (const Function f : {Function{log}, Function{sin}, Function{cos}, Function{exp},
                             Function{sqrt}, Function{tanh}}) {
      Tensor one(dtype, {1});
      one.fill(1.0);
      const Capture m("m", one);
      expect_meaning(trace([&](Score s, Index, Index, Index, Index) { return s + f(Value(m[0])); }),
                     operands.inputs());
    }
}

TEST(FieldReport, C066FunctionsAsScoreMods) {
  using Mod = std::function<Value(Score, Index)>;
  const std::vector<Mod> mods = {
      [](Score s, Index) { return tanh(s); },
      [](Score s, Index) { return sigmoid(s); },
      [](Score s, Index) { return exp(-abs(s)); },
      [](Score s, Index) { return log1p(abs(s)); },
      [](Score s, Index) { return abs(s); },
      [](Score s, Index) { return s * s; },
      [](Score s, Index) { return sqrt(s * s + 1); },
      [](Score s, Index) { return rsqrt(s * s + 1); },
      [](Score s, Index) { return sin(s); },
      [](Score s, Index) { return cos(s); },
      [](Score s, Index) { return erf(s); },
      [](Score s, Index) { return exp2(-(s * s)); },
      [](Score s, Index) { return relu(s); },
      [](Score s, Index) { return gelu(s); },
      [](Score s, Index) { return silu(s); },
      [](Score s, Index) { return softplus(s); },
      [](Score s, Index) { return 1 / (1 + s * s); },
      [](Score s, Index) { return min(s, 0.4); },
      [](Score s, Index) { return max(s, 0.4); },
      [](Score s, Index q) { return select(floor_mod(q, 2) == 0, s, -s); },
      [](Score s, Index) { return expm1(s * 0.5); },
      [](Score s, Index) { return atan(s) + tan(s * 0.1); },
      [](Score s, Index) { return sinh(s * 0.3) + cosh(s * 0.3); },
      [](Score s, Index) { return log2(abs(s) + 1) + log(abs(s) + 0.5); },
      [](Score s, Index) { return pow(abs(s) + 0.1, 1.5) + pow(s, 3); },
      [](Score s, Index) { return round(s * 4) * 0.25 + floor(s) - ceil(s * 0.5) + trunc(s); },
      [](Score s, Index) { return sign(s) + clamp(s, -1, 1); },
      [](Score s, Index) { return floor_mod(s, 0.7) + floor_div(s, 0.9); },
      [](Score s, Index) { return select(isnan(log(s)) | isinf(s), Value(-1.0), s); },
      // Rounding has jumps: of whole numbers, which every precision agrees on.
      [](Score s, Index q) {
        return s + 1e-3 * cast(Score(q * 129 + 1), DType::kBF16) +
               1e-4 * cast(Score(q * 129 + 1), DType::kF16);
      },
  };
  Operands operands = random_operands(square(1, 1, 70, 16), DType::kF32, 66);
  // A row of exact zeros, where |s| and relu have their kink.
  for (std::int64_t d = 0; d < 16; ++d) operands.query.set({0, 0, 7, d}, 0);
  for (std::size_t i = 0; i < mods.size(); ++i) {
    SCOPED_TRACE(i);
    const Program program =
        trace([&](Score s, Index, Index, Index q, Index) { return mods[i](s, q); });
    expect_meaning(program, operands.inputs());
  }
}

struct CausalFunctor {
  std::int64_t offset = 0;
  std::vector<double> ballast = std::vector<double>(1000);
  Value operator()(Index, Index, Index q, Index kv) const { return q + offset >= kv; }
  Value member(Index, Index, Index q, Index kv) const { return q + offset >= kv; }
  static Value plain(Index, Index, Index q, Index kv) { return q + 0 >= kv; }
};

TEST(FieldReport, C073EverySpellingOfAMask) {
  const CausalFunctor functor;
  const std::int64_t offset = 0;
  const auto outer = [&] {
    return [&offset](Index, Index, Index q, Index kv) { return q + offset >= kv; };
  };
  const std::vector<Program> spellings = {
      trace(functor),
      trace([&](Index b, Index h, Index q, Index kv) { return functor.member(b, h, q, kv); }),
      trace(&CausalFunctor::plain),
      trace([](Index, Index, Index q, Index kv) { return q + 0 >= kv; }),
      trace(outer()),
      trace(std::function<Value(Index, Index, Index, Index)>(functor)),
  };
  const Operands operands = random_operands(square(1, 1, 150, 16), DType::kF32, 73);
  const Results first = expect_meaning(spellings.front(), operands.inputs());
  for (const Program& program : spellings) {
    EXPECT_EQ(program.structure_digest(), spellings.front().structure_digest());
    EXPECT_TRUE(program.capture_names().empty());
    expect_same_bits(run_on(fastest_target(), program, operands.inputs()), first);
  }
}

TEST(FieldReport, C074MaskMustYieldATruthValue) {
  EXPECT_THROW(trace([](Index, Index, Index q, Index kv) { return Value(q * 0.5 + kv); }), Error);
}

TEST(FieldReport, C075SoftcapIsBounded) {
  Operands operands = random_operands(square(1, 1, 64, 16), DType::kF32, 75);
  operands.query.fill([&](const Dims& at) { return 50 * operands.key.at(at); });
  for (const double cap : {15.0, 0.5}) {
    const Number c("cap", cap);
    const Program program =
        trace([&](Score s, Index, Index, Index, Index) { return c * tanh(s / c); });
    const Results results = expect_meaning(program, operands.inputs());
    for_each_index(results.max_scores->shape(),
                   [&](const Dims& at) { EXPECT_LE(std::abs(results.max_scores->at(at)), cap); });
  }
}

TEST(FieldReport, C076TruthCapturesAddOneOrNothing) {
  Tensor bits(DType::kBool, {40, 40});
  Random random(76);
  bits.fill([&](const Dims&) { return random.chance(0.5); });
  const Tensor reals = copy_as(bits, DType::kF32);
  const Capture m("m", bits);
  const Capture f("f", reals);
  const Operands operands = random_operands(square(1, 1, 40, 16), DType::kF32, 76);
  const Results a =
      expect_meaning(trace([&](Score s, Index, Index, Index q, Index kv) { return s + m[q][kv]; }),
                     operands.inputs());
  const Results b =
      expect_meaning(trace([&](Score s, Index, Index, Index q, Index kv) { return s + f[q][kv]; }),
                     operands.inputs());
  expect_same_bits(a, b);
}

TEST(FieldReport, LiveDivisionByZeroRaisesAndADeadOneDoesNot) {
  const Operands operands = random_operands(square(1, 1, 40, 16), DType::kF32, 77);
  expect_error(trace([](Index, Index, Index q, Index kv) { return floor_div(kv, q - 7) >= 0; }),
               operands.inputs(), ErrorCode::kDivisionByZero, {"zero"});
  // Every quotient gives a live pair, so that no tile has to be looked into for its truth.
  expect_error(
      trace([](Index, Index, Index q, Index kv) { return floor_mod(floor_div(kv, q - 7), 2) < 2; }),
      operands.inputs(), ErrorCode::kDivisionByZero, {"zero"});
  expect_meaning(trace([](Index, Index, Index q, Index kv) {
                   if (q == 7) return Bool(true);
                   return Bool(floor_div(kv, q - 7) >= -2);
                 }),
                 operands.inputs());
}

}  // namespace
}  // namespace tilewright::cases
