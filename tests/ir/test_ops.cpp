#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "tilewright/error.h"

namespace tilewright::ir {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

/// The integer value of a text expression over integer numbers x, y, z.
std::int64_t integer(const std::string& expression, std::int64_t x, std::int64_t y = 0,
                     std::int64_t z = 0) {
  Declarations declared;
  const std::vector<std::pair<const char*, std::int64_t>> numbers{{"x", x}, {"y", y}, {"z", z}};
  for (const auto& [name, value] : numbers)
    declared.numbers.emplace_back(NumberSlot{.name = name, .type = Type::kInt},
                                  NumberValue{.real = 0, .integer = value});
  const auto [program, bindings] = parse("score = float(" + expression + ")", declared);
  const NodeId root = *program.roots().score;
  // A literal integer is the root's operand; everything else is a node of type int below it.
  const NodeId value = program.node(root).op == Op::int_to_float ? program.operands(root)[0] : root;
  return Interpreter(program, bindings).values(0, {})[value].integer;
}

/// The value of a text expression over float numbers x, y, z.
double real(const std::string& expression, double x, double y = 0, double z = 0) {
  Declarations declared;
  const std::vector<std::pair<const char*, double>> numbers{{"x", x}, {"y", y}, {"z", z}};
  for (const auto& [name, value] : numbers)
    declared.numbers.emplace_back(NumberSlot{.name = name, .type = Type::kFloat},
                                  NumberValue{.real = value, .integer = 0});
  return tests::score_at("score = float(" + expression + ")", 0, {}, declared);
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b)
                       : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

TEST(IntegerOps, WrapInTwosComplement) {
  EXPECT_EQ(integer("x + y", kMax, 1), kMin);
  EXPECT_EQ(integer("x - y", kMin, 1), kMax);
  EXPECT_EQ(integer("x * y", kMax, 2), -2);
  EXPECT_EQ(integer("-x", kMin), kMin);
  EXPECT_EQ(integer("abs(x)", kMin), kMin);
  EXPECT_EQ(integer("sign(x)", kMin), -1);
  EXPECT_EQ(integer("~x", kMax), kMin);
}

TEST(IntegerOps, DivisionsRoundAsTheirNamesSay) {
  const std::vector<std::array<std::int64_t, 6>> cases{
      // x, y, floor, floor remainder, trunc, trunc remainder
      {7, 2, 3, 1, 3, 1},
      {-7, 2, -4, 1, -3, -1},
      {7, -2, -4, -1, -3, 1},
      {-7, -2, 3, -1, 3, -1},
      {6, 3, 2, 0, 2, 0},
      {-6, 3, -2, 0, -2, 0},
      {0, 5, 0, 0, 0, 0},
      {kMin, -1, kMin, 0, kMin, 0},
      {kMin, 2, kMin / 2, 0, kMin / 2, 0},
      {kMax, -1, -kMax, 0, -kMax, 0}};
  for (const auto& [x, y, floor, floor_rest, trunc, trunc_rest] : cases) {
    EXPECT_EQ(integer("x // y", x, y), floor) << x << " " << y;
    EXPECT_EQ(integer("x % y", x, y), floor_rest) << x << " " << y;
    EXPECT_EQ(integer("trunc_div(x, y)", x, y), trunc) << x << " " << y;
    EXPECT_EQ(integer("trunc_mod(x, y)", x, y), trunc_rest) << x << " " << y;
  }
}

TEST(IntegerOps, DivisionByZeroIsAnErrorWhereItIsLive) {
  for (const char* text : {"x // y", "x % y", "trunc_div(x, y)", "trunc_mod(x, y)"}) {
    try {
      (void)integer(text, 7, 0);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDivisionByZero) << text;
    }
    EXPECT_EQ(integer("0 if y == 0 else " + std::string(text), 7, 0), 0) << text;
  }
  EXPECT_EQ(integer("floor_div(x, y, when=y != 0)", 7, 0), 0);
}

TEST(IntegerOps, ShiftsOutsideTheWidth) {
  EXPECT_EQ(integer("x << y", 3, 62), static_cast<std::int64_t>(std::uint64_t{3} << 62));
  EXPECT_EQ(integer("x << y", 3, 64), 0);
  EXPECT_EQ(integer("x << y", 3, -1), 0);
  EXPECT_EQ(integer("x >> y", -8, 1), -4);
  EXPECT_EQ(integer("x >> y", -8, 64), -1);
  EXPECT_EQ(integer("x >> y", -8, -1), -1);
  EXPECT_EQ(integer("x >> y", 8, 200), 0);
}

TEST(IntegerOps, MinMaxClamp) {
  EXPECT_EQ(integer("min(x, y)", -3, 4), -3);
  EXPECT_EQ(integer("max(x, y)", -3, 4), 4);
  EXPECT_EQ(integer("clamp(x, y, z)", 9, -2, 5), 5);
  EXPECT_EQ(integer("clamp(x, y, z)", -9, -2, 5), -2);
  EXPECT_EQ(integer("clamp(x, y, z)", 0, 5, 2), 2) << "high wins where low > high";
}

TEST(Casts, FloatToIntegerTruncatesAndSaturates) {
  EXPECT_EQ(integer("int(2.9)", 0), 2);
  EXPECT_EQ(integer("int(-2.9)", 0), -2);
  EXPECT_EQ(integer("int(nan)", 0), 0);
  EXPECT_EQ(integer("int(inf)", 0), kMax);
  EXPECT_EQ(integer("int(-inf)", 0), kMin);
  EXPECT_EQ(integer("int(9.3e18)", 0), kMax);
  EXPECT_EQ(integer("int(-9223372036854775808.0)", 0), kMin);
}

TEST(Casts, NarrowIntegersWrap) {
  EXPECT_EQ(integer("to_i8(x)", 200), -56);
  EXPECT_EQ(integer("to_i16(x)", 40000), -25536);
  EXPECT_EQ(integer("to_i32(x)", std::int64_t{1} << 31), -(std::int64_t{1} << 31));
  EXPECT_EQ(integer("to_u8(x)", -1), 255);
}

TEST(Casts, HalvesRoundToNearestEvenOnce) {
  EXPECT_EQ(real("to_f16(x)", 2049), 2048);
  EXPECT_EQ(real("to_f16(x)", 2051), 2052);
  EXPECT_EQ(real("to_f16(x)", 65519.999), 65504);
  EXPECT_EQ(real("to_f16(x)", 65520), kInfinity);
  EXPECT_EQ(real("to_bf16(x)", 257), 256);
  EXPECT_EQ(real("to_bf16(x)", 259), 260);
  EXPECT_EQ(real("to_bf16(x)", -1e39), -kInfinity);
  // Through fp32 these would round twice, to the other side.
  EXPECT_EQ(real("to_f16(x)", 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(real("to_bf16(x)", 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(real("to_f16(x)", 0x1p-25), 0);
  EXPECT_EQ(real("to_f16(x)", 0x1.8p-25), 0x1p-24);
  EXPECT_EQ(real("to_f32(x)", 1 + 0x1p-30), 1);
  EXPECT_TRUE(std::isnan(real("to_f16(x)", kNan)));
}

TEST(FloatOps, MinMaxClampPropagateNan) {
  for (const char* text : {"min(x, y)", "max(x, y)", "min(y, x)", "max(y, x)", "clamp(x, y, z)",
                           "clamp(y, x, z)", "clamp(y, z, x)", "relu(x)"})
    EXPECT_TRUE(std::isnan(real(text, kNan, 1, 2))) << text;
  EXPECT_EQ(real("clamp(x, y, z)", 0, 5, 2), 2) << "high wins where low > high";
  EXPECT_EQ(real("isnan(x)", kNan), 1);
  EXPECT_EQ(real("isnan(x)", kInfinity), 0);
  EXPECT_EQ(real("isinf(x)", -kInfinity), 1);
  EXPECT_EQ(real("isinf(x)", kNan), 0);
}

TEST(FloatOps, ComparisonsWithNan) {
  for (const char* text : {"x < y", "x <= y", "x > y", "x >= y", "x == y", "x == x"})
    EXPECT_EQ(real(text, kNan, 1), 0) << text;
  EXPECT_EQ(real("x != x", kNan), 1);
  EXPECT_EQ(real("not x == x", kNan), 1);
  EXPECT_EQ(real("~(x < y)", kNan, 1), 1);
}

TEST(FloatOps, RoundingAndSigns) {
  EXPECT_EQ(real("round(x)", 0.5), 0);
  EXPECT_EQ(real("round(x)", 1.5), 2);
  EXPECT_EQ(real("round(x)", 2.5), 2);
  EXPECT_EQ(real("round(x)", -2.5), -2);
  EXPECT_EQ(real("trunc(x)", -2.5), -2);
  EXPECT_EQ(real("floor(x)", -2.5), -3);
  EXPECT_EQ(real("ceil(x)", -2.5), -2);
  EXPECT_TRUE(same(real("sign(x)", -0.0), -0.0));
  EXPECT_TRUE(std::isnan(real("sign(x)", kNan)));
  EXPECT_TRUE(same(real("-x", 0.0), -0.0));
  EXPECT_TRUE(same(real("abs(x)", -0.0), 0.0));
}

TEST(FloatOps, FloorAndTruncatedRemainders) {
  EXPECT_EQ(real("x % y", -7.5, 2), 0.5);
  EXPECT_EQ(real("x % y", 7.5, -2), -0.5);
  EXPECT_EQ(real("x // y", -7.5, 2), -4);
  EXPECT_EQ(real("trunc_mod(x, y)", -7.5, 2), -1.5);
  EXPECT_EQ(real("trunc_div(x, y)", -7.5, 2), -3);
  EXPECT_TRUE(std::isnan(real("x % y", 1, 0)));
  EXPECT_EQ(real("x // y", 1, 0), kInfinity);
  EXPECT_EQ(real("x / y", -1, 0), -kInfinity);
  EXPECT_EQ(real("x % y", -5, kInfinity), kInfinity);
  EXPECT_EQ(real("x % y", 5, kInfinity), 5);
}

TEST(FloatOps, EdgesOfFunctions) {
  EXPECT_EQ(real("log(x)", 0), -kInfinity);
  EXPECT_TRUE(std::isnan(real("log(x)", -1)));
  EXPECT_TRUE(std::isnan(real("log1p(x)", -2)));
  EXPECT_EQ(real("log1p(x)", -1), -kInfinity);
  EXPECT_TRUE(std::isnan(real("sqrt(x)", -1)));
  EXPECT_EQ(real("rsqrt(x)", 0), kInfinity);
  EXPECT_EQ(real("pow(x, y)", kNan, 0), 1);
  EXPECT_TRUE(std::isnan(real("pow(x, y)", -2, 0.5)));
  EXPECT_EQ(real("x ** 3", -2), -8);
  EXPECT_EQ(real("sigmoid(x)", -1000), 0);
  EXPECT_EQ(real("sigmoid(x)", 1000), 1);
  EXPECT_EQ(real("softplus(x)", 1000), 1000);
  EXPECT_EQ(real("softplus(x)", -1000), 0);
  EXPECT_TRUE(std::isnan(real("silu(x)", -kInfinity)));
  EXPECT_EQ(real("silu(x)", kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(real("sin(x)", kInfinity)));
  EXPECT_EQ(real("tanh(x)", kInfinity), 1);
  EXPECT_EQ(real("relu(x)", -3), 0);
}

TEST(FloatOps, ValuesOfFunctions) {
  const double x = 0.7;
  const std::vector<std::pair<const char*, double>> cases{
      {"exp(x)", std::exp(x)},
      {"exp2(x)", std::exp2(x)},
      {"expm1(x)", std::expm1(x)},
      {"log(x)", std::log(x)},
      {"log2(x)", std::log2(x)},
      {"log1p(x)", std::log1p(x)},
      {"sqrt(x)", std::sqrt(x)},
      {"sin(x)", std::sin(x)},
      {"cos(x)", std::cos(x)},
      {"tan(x)", std::tan(x)},
      {"tanh(x)", std::tanh(x)},
      {"sinh(x)", std::sinh(x)},
      {"cosh(x)", std::cosh(x)},
      {"atan(x)", std::atan(x)},
      {"erf(x)", std::erf(x)},
      {"rsqrt(x)", 1 / std::sqrt(x)},
      {"sigmoid(x)", 1 / (1 + std::exp(-x))},
      {"silu(x)", x / (1 + std::exp(-x))},
      {"gelu(x)", 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)))},
      {"softplus(x)", std::log(1 + std::exp(x))}};
  for (const auto& [text, expected] : cases)
    EXPECT_NEAR(real(text, x), expected, 4e-16 * std::max(1.0, std::abs(expected))) << text;
}

TEST(Choice, TheOtherPathNeverMatters) {
  EXPECT_EQ(real("select(x > 0, x, log(y))", 1, -1), 1);
  EXPECT_EQ(real("select(x > 0, x, 1 / y)", 1, 0), 1);
  EXPECT_EQ(real("1.0 if x > 0 else nan", 1), 1);
}

TEST(Promotion, FollowsBoolIntFloat) {
  EXPECT_EQ(real("x + (1 < 2)", 0.5), 1.5);
  EXPECT_EQ(real("(1 < 2) + (2 < 3)", 0), 2);
  EXPECT_EQ(real("7 // 2 + x", 0.5), 3.5);
  EXPECT_EQ(real("(2 < 3) / 2", 0), 0.5);
}

TEST(Precision, MasksAreFp32AndScoresFp64) {
  // 2^24 + 1 is no fp32 number.
  EXPECT_TRUE(tests::mask_at("float(q) == float(kv)", tests::pair(16777216, 16777217)));
  EXPECT_EQ(tests::score_at("score = float(q) - float(kv)", 0, tests::pair(16777216, 16777217)),
            -1);
}

}  // namespace
}  // namespace tilewright::ir
