#include "tile_expectations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

#include "base/half.h"

namespace tilewright::test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double bound_of(const cpu::PassVariant& variant) { return variant.is_f64 ? 1e-12 : 4e-6; }

/// `rounded` is the bf16 nearest to `exact`.
void expect_rounded(double exact, double rounded) {
  if (exact != exact)
    EXPECT_TRUE(rounded != rounded);
  else
    EXPECT_EQ(bf16_to_float(float_to_bf16(static_cast<float>(exact))), rounded);
}

struct Extremes {
  double greatest = -kInfinity;  ///< NaN left out
  bool spoiled = false;          ///< NaN or infinity is among them
};

Extremes extremes_of(std::span<const double> scores) {
  Extremes extremes;
  for (const double score : scores) {
    extremes.spoiled = extremes.spoiled || score != score || score == kInfinity;
    if (score > extremes.greatest) extremes.greatest = score;
  }
  return extremes;
}

void expect_row(const std::vector<double>& t, const TileResult& result, const RowState& state,
                std::size_t r, const cpu::PassVariant& variant) {
  const std::size_t cols = t.size() / state.max.size();
  const double bound = bound_of(variant);
  double sum = 0;
  const auto [greatest, spoiled] = extremes_of(std::span(t).subspan(r * cols, cols));
  if (greatest == kInfinity || greatest == -kInfinity)
    EXPECT_EQ(state.max[r], greatest);
  else
    EXPECT_NEAR(state.max[r], greatest, bound * std::max(1.0, std::fabs(greatest)));
  const double shift = greatest == -kInfinity ? 0 : state.shift[r];
  for (std::size_t c = 0; c < cols; ++c) {
    const double score = t[r * cols + c];
    const double expected = std::exp(score - shift);
    sum += expected;
    const double got = result.prob[r * cols + c];
    const bool is_narrow = variant.prob == cpu::ProbType::kBF16;
    if (is_narrow) expect_rounded(result.exact_prob[r * cols + c], got);
    if (score != score || (score == kInfinity && shift == kInfinity)) {
      EXPECT_TRUE(got != got) << "column " << c << " got " << got;
      continue;
    }
    if (score == -kInfinity) {
      EXPECT_EQ(got, 0) << "column " << c << " of row " << r << " is dead";
      continue;
    }
    const double allowed = bound * std::max(1.0, std::fabs(score)) * expected + 1e-37;
    const double exact = is_narrow ? result.exact_prob[r * cols + c] : got;
    EXPECT_NEAR(exact, expected, allowed) << "column " << c << " of row " << r << ", t " << score;
  }
  if (greatest == -kInfinity && !spoiled)
    EXPECT_EQ(state.sum[r], 0);
  else if (spoiled)
    EXPECT_TRUE(state.sum[r] != state.sum[r]) << state.sum[r];
  else
    EXPECT_NEAR(state.sum[r], sum, bound * 8 * std::max(1.0, std::fabs(greatest)) * sum);
}

struct TiledProgram {
  const ir::Program& program;
  const ir::Bindings& bindings;
  const cpu::PassVariant& variant;
};

void expect_tile(const cpu::LoadedPass& pass, bool masked, const TiledProgram& tiled,
                 const TilePlace& place) {
  const double scale = 0.125;
  SCOPED_TRACE(::testing::Message()
               << (masked ? "masked" : "full") << ", rows " << place.rows << ", columns "
               << place.col_begin << " to " << place.col_end << " of " << place.cols);
  TileRunner runner(tiled.bindings, tiled.variant, scale);
  const std::vector<double> raw = random_scores(17, place.rows * place.cols);
  std::vector<double> scaled(raw);
  for (double& score : scaled) score *= scale;
  const auto t = reference_scores(tiled.program, tiled.bindings, masked, place, scaled);
  RowState state = empty_state(place.rows);
  const TileResult result = runner.run(pass, masked, place, raw, state);
  EXPECT_EQ(result.fault.node, -1);
  for (std::size_t r = 0; r < state.max.size(); ++r) expect_row(t, result, state, r, tiled.variant);
}

}  // namespace

void expect_pass_matches(const PassMaker& maker, const ir::Program& program,
                         const ir::Bindings& bindings, const cpu::PassVariant& variant,
                         const std::vector<TilePlace>& places) {
  SCOPED_TRACE(::testing::Message()
               << maker.name << (variant.is_f64 ? ", f64" : ", f32") << ", prob "
               << static_cast<int>(variant.prob) << (variant.fits_int32 ? ", int32" : ", int64")
               << (variant.checked ? ", checked" : ""));
  const auto pass = maker.make(program, variant);
  const TiledProgram tiled{program, bindings, variant};
  for (const TilePlace& place : places) {
    if (place.whole) expect_tile(*pass, false, tiled, place);
    if (program.roots().mask) expect_tile(*pass, true, tiled, place);
  }
}

}  // namespace tilewright::test
