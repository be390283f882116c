#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tile_harness.h"

/// The online softmax: sequences of tiles, the lazy shift, NaN and infinities.
namespace tilewright::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kLazyShift = 8 * std::log(2.0);

const cpu::PassVariant kF32{.prob = cpu::ProbType::kF32, .fits_int32 = true, .checked = false};
const cpu::PassVariant kF64{
    .is_f64 = true, .prob = cpu::ProbType::kF64, .fits_int32 = false, .checked = false};

class Softmax : public ::testing::Test {
 protected:
  void for_each_pass(
      const std::function<void(const cpu::LoadedPass&, const cpu::PassVariant&)>& body) {
    for (const PassMaker& maker : pass_makers())
      for (const cpu::PassVariant& variant : {kF32, kF64}) {
        SCOPED_TRACE(maker.name + (variant.is_f64 ? " f64" : " f32"));
        body(*maker.make(ir::Program(), variant), variant);
      }
  }
};

TEST_F(Softmax, TilesInSequenceAddUpToTheWholeRow) {
  for_each_pass([](const cpu::LoadedPass& pass, const cpu::PassVariant& variant) {
    TileRunner runner(ir::Bindings{}, variant, 1.0);
    RowState state = empty_state(1);
    double max = -kInfinity;
    double whole = 0;  // sum of exp(t), the shift put back
    for (int tile = 0; tile < 40; ++tile) {
      std::vector<double> t = random_scores(static_cast<std::uint64_t>(tile), 32);
      for (double& score : t) score = score * 2 + (tile % 7) * 5 - (tile % 3) * 9;
      const double before = state.shift[0];
      const auto result = runner.run(pass, false, {.rows = 1, .cols = 32}, t, state);
      for (const double score : t) {
        max = std::max(max, score);
        whole += std::exp(score);
      }
      EXPECT_EQ(state.max[0], max);
      EXPECT_LE(state.max[0] - state.shift[0], kLazyShift * 1.0001);
      const bool moved = state.shift[0] != before;
      if (moved) {
        EXPECT_EQ(state.shift[0], max);
      }
      if (std::isfinite(before)) {
        EXPECT_NEAR(state.alpha[0], moved ? std::exp(before - state.shift[0]) : 1, 1e-6);
      }
      EXPECT_NEAR(state.sum[0] * std::exp(state.shift[0]) / whole, 1, 1e-5);
    }
  });
}

TEST_F(Softmax, TheShiftStaysWithinItsDistance) {
  for_each_pass([](const cpu::LoadedPass& pass, const cpu::PassVariant& variant) {
    TileRunner runner(ir::Bindings{}, variant, 1.0);
    RowState state = empty_state(1);
    runner.run(pass, false, {.rows = 1, .cols = 16, .col_end = 16}, std::vector<double>(16, 1),
               state);
    EXPECT_EQ(state.shift[0], 1);
    EXPECT_EQ(state.sum[0], 16);
    std::vector<double> t(16, -40);
    t[5] = 6;  // 5 above the shift: less than 8 ln 2
    const auto result = runner.run(pass, false, {.rows = 1, .cols = 16, .col_end = 16}, t, state);
    EXPECT_EQ(state.shift[0], 1);
    EXPECT_EQ(state.max[0], 6);
    EXPECT_EQ(state.alpha[0], 1);
    EXPECT_NEAR(result.prob[5], std::exp(5.0), 1e-4);
    t[5] = 7;
    runner.run(pass, false, {.rows = 1, .cols = 16, .col_end = 16}, t, state);
    EXPECT_EQ(state.shift[0], 7);
    EXPECT_NEAR(state.alpha[0], std::exp(-6.0), 1e-8);
  });
}

TEST_F(Softmax, RowsWithoutAPairStayEmpty) {
  for_each_pass([](const cpu::LoadedPass& pass, const cpu::PassVariant& variant) {
    TileRunner runner(ir::Bindings{}, variant, 1.0);
    RowState state = empty_state(2);
    std::vector<double> t(32, -kInfinity);
    t[20] = 3;
    const auto result = runner.run(pass, false, {.rows = 2, .cols = 16, .col_end = 16}, t, state);
    EXPECT_EQ(state.max[0], -kInfinity);
    EXPECT_EQ(state.shift[0], -kInfinity);
    EXPECT_EQ(state.sum[0], 0);
    EXPECT_EQ(state.alpha[0], 1);
    for (int c = 0; c < 16; ++c) EXPECT_EQ(result.prob[static_cast<std::size_t>(c)], 0);
    EXPECT_EQ(result.prob[20], 1);
    EXPECT_EQ(state.sum[1], 1);
  });
}

TEST_F(Softmax, NaNAndInfinitySpoilTheirOwnRowOnly) {
  for_each_pass([](const cpu::LoadedPass& pass, const cpu::PassVariant& variant) {
    TileRunner runner(ir::Bindings{}, variant, 1.0);
    RowState state = empty_state(4);
    std::vector<double> t(64, 1);
    t[3] = kNaN;
    t[16 + 4] = kInfinity;
    for (int c = 32; c < 48; ++c) t[static_cast<std::size_t>(c)] = c == 40 ? kNaN : -kInfinity;
    const auto result = runner.run(pass, false, {.rows = 4, .cols = 16, .col_end = 16}, t, state);
    for (const std::size_t r : {0U, 1U, 2U}) EXPECT_TRUE(std::isnan(state.sum[r])) << r;
    EXPECT_TRUE(std::isnan(result.prob[3]));
    EXPECT_TRUE(std::isnan(result.prob[16 + 4]));
    EXPECT_EQ(state.max[1], kInfinity);
    EXPECT_TRUE(std::isnan(result.prob[40]));
    EXPECT_EQ(state.sum[3], 16);
    EXPECT_EQ(state.max[3], 1);
    // A later tile does not heal them.
    runner.run(pass, false, {.rows = 4, .cols = 16, .col_end = 16}, std::vector<double>(64, 2),
               state);
    for (const std::size_t r : {0U, 1U, 2U}) EXPECT_TRUE(std::isnan(state.sum[r])) << r;
    EXPECT_EQ(state.max[1], kInfinity);
    EXPECT_NEAR(state.sum[3], 16 + 16 * std::exp(1.0), 1e-4);
  });
}

TEST_F(Softmax, ColumnsOutsideTheRangeMayHoldAnything) {
  for_each_pass([](const cpu::LoadedPass& pass, const cpu::PassVariant& variant) {
    TileRunner runner(ir::Bindings{}, variant, 1.0);
    RowState state = empty_state(1);
    std::vector<double> t(48, kNaN);
    for (std::size_t c = 0; c < 9; ++c) t[c] = kInfinity;
    for (std::size_t c = 9; c < 37; ++c) t[c] = 0.5;
    const auto result =
        runner.run(pass, false, {.rows = 1, .cols = 48, .col_begin = 9, .col_end = 37}, t, state);
    EXPECT_EQ(state.max[0], 0.5);
    EXPECT_EQ(state.sum[0], 28);
    for (std::size_t c = 0; c < 48; ++c) EXPECT_EQ(result.prob[c], c >= 9 && c < 37 ? 1 : 0);
  });
}

TEST_F(Softmax, AnEmptyColumnRangeChangesNothingButProb) {
  for_each_pass([](const cpu::LoadedPass& pass, const cpu::PassVariant& variant) {
    TileRunner runner(ir::Bindings{}, variant, 1.0);
    RowState state = empty_state(1);
    state.max[0] = state.shift[0] = 2;
    state.sum[0] = 3;
    const auto result =
        runner.run(pass, false, {.rows = 1, .cols = 32, .col_begin = 7, .col_end = 7},
                   std::vector<double>(32, kNaN), state);
    EXPECT_EQ(state.max[0], 2);
    EXPECT_EQ(state.sum[0], 3);
    EXPECT_EQ(state.alpha[0], 1);
    for (const double p : result.prob) EXPECT_EQ(p, 0);
  });
}

}  // namespace
}  // namespace tilewright::test
