#include <gtest/gtest.h>

#include <cmath>

#include "tile_harness.h"
#include "tilewright/program.h"

/// Tiles after a row's first, whose loops work on several vectors at a time: every column range.
namespace tilewright::test {
namespace {

constexpr double kShift = 1;
constexpr double kSum = 2;

/// From a chain too short to be cut to ones that are; the last reads what the loop counts.
const char* const kPrograms[] = {
    "",
    "score = 2.5 * tanh(score / 2.5)",
    "score = tanh(score) * sigmoid(score + 1.0)",
    "mask = q >= kv\nscore = 2.5 * tanh(score / 2.5)",
    "score = 2.0 * tanh(score + 0.01 * (kv - q)) + 0.001 * kv",
};

const std::vector<cpu::PassVariant> kVariants = {
    {.prob = cpu::ProbType::kF32, .fits_int32 = true, .checked = false},
    {.prob = cpu::ProbType::kBF16, .fits_int32 = true, .checked = false},
    {.is_f64 = true, .prob = cpu::ProbType::kF64, .fits_int32 = false, .checked = false},
};

/// Of a stored probability.
double tolerance(const cpu::PassVariant& variant) {
  if (variant.is_f64) return 1e-12;
  return variant.prob == cpu::ProbType::kBF16 ? 0x1p-8 : 2e-6;
}

/// Of their sum, before they are rounded: the polynomial for bf16 is within 2.9e-6.
double sum_tolerance(const cpu::PassVariant& variant) {
  return variant.prob == cpu::ProbType::kBF16 ? 5e-6 : 2e-6;
}

class LaterTile {
 public:
  LaterTile(const Program& program, const PassMaker& maker, const cpu::PassVariant& variant)
      : program_(program),
        variant_(variant),
        pass_(maker.make(program.structure(), variant)),
        runner_(program.bindings(), variant, 1.0) {}

  void expect_matches(const TilePlace& place) {
    SCOPED_TRACE("columns " + std::to_string(place.col_begin) + " to " +
                 std::to_string(place.col_end));
    const bool masked = program_.has_mask_mod();
    const auto scores =
        random_scores(static_cast<std::uint64_t>(place.col_end), place.rows * place.cols);
    const auto t =
        reference_scores(program_.structure(), program_.bindings(), masked, place, scores);
    RowState state = empty_state(place.rows);
    state.max.assign(state.max.size(), kShift);
    state.shift = state.max;
    state.sum.assign(state.sum.size(), kSum);
    const TileResult result = runner_.run(*pass_, masked, place, scores, state);
    for (std::int64_t r = 0; r < place.rows; ++r) {
      double sum = kSum;
      double max = kShift;
      for (std::int64_t c = 0; c < place.cols; ++c) {
        const auto at = static_cast<std::size_t>(r * place.cols + c);
        const bool is_inside = c >= place.col_begin && c < place.col_end;
        const double p = is_inside ? std::exp(t[at] - kShift) : 0;
        ASSERT_NEAR(result.prob[at], p, p * tolerance(variant_)) << "row " << r << " column " << c;
        sum += p;
        if (is_inside) max = std::max(max, t[at]);
      }
      const auto row = static_cast<std::size_t>(r);
      EXPECT_NEAR(state.sum[row], sum, sum * sum_tolerance(variant_));
      EXPECT_NEAR(state.max[row], max, 1e-5);
      EXPECT_EQ(state.shift[row], kShift);
    }
  }

 private:
  const Program& program_;
  cpu::PassVariant variant_;
  std::shared_ptr<const cpu::LoadedPass> pass_;
  TileRunner runner_;
};

TEST(LaterTiles, EveryColumnRange) {
  for (const char* const text : kPrograms) {
    SCOPED_TRACE(text);
    const Program program = Program::parse(text);
    for (const PassMaker& maker : pass_makers())
      for (const cpu::PassVariant& variant : kVariants) {
        SCOPED_TRACE(maker.name);
        LaterTile tile(program, maker, variant);
        for (const std::int64_t begin : {0, 3, 16, 21})
          for (std::int64_t end = begin + 1; end <= 96; end += end < 60 ? 1 : 7)
            ASSERT_NO_FATAL_FAILURE(tile.expect_matches({.rows = 3,
                                                         .cols = 96,
                                                         .col_begin = begin,
                                                         .col_end = end,
                                                         .q_begin = 40,
                                                         .kv_begin = 7}));
      }
  }
}

}  // namespace
}  // namespace tilewright::test
