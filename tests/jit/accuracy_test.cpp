#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "ir/graph.h"
#include "tile_harness.h"

/// Units in the last place of functions in score_mod, read through row_max: each row has one pair.
namespace tilewright::test {
namespace {

constexpr std::int64_t kRowsPerTile = 1024;

double ulp_of(double value) {
  const auto magnitude = static_cast<float>(std::fabs(value));
  const float next = std::nextafter(magnitude, std::numeric_limits<float>::infinity());
  if (std::isinf(next)) return std::ldexp(1.0, 104);
  return static_cast<double>(next) - static_cast<double>(magnitude);
}

/// Floats over all exponents of both signs: the same mantissas in each binade.
std::vector<double> floats_of_all_exponents(int per_binade) {
  std::vector<double> values;
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent)
    for (int i = 0; i < per_binade; ++i) {
      const std::uint32_t mantissa = (static_cast<std::uint32_t>(i) * 2654435761U) & 0x7fffffU;
      const float value = std::bit_cast<float>((exponent << 23) | mantissa);
      values.push_back(static_cast<double>(value));
      values.push_back(static_cast<double>(-value));
    }
  return values;
}

/// Floats side by side from `low` to `high`, dense where functions bend.
std::vector<double> floats_between(float low, float high, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(count);
    values.push_back(static_cast<double>(
        static_cast<float>(static_cast<double>(low) + t * static_cast<double>(high - low))));
  }
  return values;
}

struct Worst {
  double ulp = 0;
  double at = 0;
};

Worst worst_ulp(const PassMaker& maker, const std::string& fn,
                const std::function<double(double)>& exact, const std::vector<double>& arguments) {
  ir::Graph g;
  const ir::NodeId always = g.literal(true);
  const auto [program, bindings] =
      g.finish({.score = g.call(fn, {g.input(ir::Op::kScore)}, always), .mask = std::nullopt});
  const cpu::PassVariant variant{.prob = cpu::ProbType::kF32, .fits_int32 = true, .checked = false};
  const auto pass = maker.make(program, variant);
  TileRunner runner(bindings, variant, 1.0);
  Worst worst;
  for (std::size_t begin = 0; begin < arguments.size(); begin += kRowsPerTile) {
    const std::size_t rows = std::min<std::size_t>(kRowsPerTile, arguments.size() - begin);
    std::vector<double> scores(rows * 16);
    for (std::size_t r = 0; r < rows; ++r) scores[r * 16] = arguments[begin + r];
    RowState state = empty_state(static_cast<std::int64_t>(rows));
    runner.run(*pass, false,
               {.rows = static_cast<std::int64_t>(rows), .cols = 16, .col_begin = 0, .col_end = 1},
               scores, state);
    for (std::size_t r = 0; r < rows; ++r) {
      const double expected = exact(arguments[begin + r]);
      if (std::isinf(static_cast<float>(expected)) && state.max[r] == expected) continue;
      const double ulp = std::fabs(state.max[r] - expected) / ulp_of(expected);
      if (!(ulp <= worst.ulp)) worst = {ulp, arguments[begin + r]};
    }
  }
  return worst;
}

void expect_ulp(const std::string& fn, double (*exact)(double), double bound,
                const std::vector<double>& arguments) {
  for (const PassMaker& maker : pass_makers()) {
    const Worst worst = worst_ulp(maker, fn, exact, arguments);
    EXPECT_LE(worst.ulp, bound) << maker.name << " " << fn << "(" << worst.at << ")";
    ::testing::Test::RecordProperty(maker.name + " " + fn, std::to_string(worst.ulp));
  }
}

TEST(Accuracy, ExpIsWithinTwoUlpOverAllExponents) {
  std::vector<double> arguments;
  for (const double x : floats_of_all_exponents(40))
    if (x < 88.7) arguments.push_back(x);
  expect_ulp("exp", std::exp, 2, arguments);
  expect_ulp("exp", std::exp, 2, floats_between(-88, 88, 60000));
}

TEST(Accuracy, TanhIsWithinTwoUlpOverAllExponents) {
  expect_ulp("tanh", std::tanh, 2, floats_of_all_exponents(40));
  expect_ulp("tanh", std::tanh, 2, floats_between(-10, 10, 60000));
  // Where h / (h + 1) rounds worst.
  expect_ulp("tanh", std::tanh, 2, floats_between(0.05, 0.3, 120000));
}

TEST(Accuracy, OtherFunctionsStayWithinFourUlp) {
  expect_ulp("exp2", std::exp2, 2, floats_between(-126, 127, 20000));
  expect_ulp(
      "sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 4,
      floats_between(-80, 80, 20000));
  expect_ulp(
      "silu", [](double x) { return x / (1 + std::exp(-x)); }, 4, floats_between(-80, 80, 20000));
  expect_ulp(
      "softplus", [](double x) { return std::log1p(std::exp(x)); }, 4,
      floats_between(-80, 80, 20000));
  expect_ulp("erf", std::erf, 4, floats_between(-5, 5, 20000));
  expect_ulp("log", std::log, 4, floats_between(0.001F, 50, 20000));
  expect_ulp("log1p", std::log1p, 4, floats_between(-0.9F, 50, 20000));
  expect_ulp("expm1", std::expm1, 4, floats_between(-20, 80, 20000));
  expect_ulp("atan", std::atan, 4, floats_between(-50, 50, 20000));
}

}  // namespace
}  // namespace tilewright::test
