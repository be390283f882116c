#include <gtest/gtest.h>

#include <cmath>

#include "support/random_program.h"
#include "tile_expectations.h"

/// Random programs: every pass maker against the interpreter, and against each other in fp32.
namespace tilewright::test {
namespace {

constexpr std::uint64_t kPrograms = 16;

const std::vector<TilePlace> kPlaces = {
    {.rows = 5,
     .cols = 48,
     .col_begin = 3,
     .col_end = 41,
     .b = 1,
     .h = 2,
     .q_begin = 17,
     .kv_begin = 4},
    {.rows = 3,
     .cols = 64,
     .col_begin = 0,
     .col_end = 64,
     .b = 0,
     .h = 1,
     .q_begin = 90,
     .kv_begin = 64},
};

TEST(RandomPrograms, MasksAreTheInterpretersBitForBit) {
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const auto random =
        cases::random_program(seed, {.score = false, .fp64_captures = seed % 4 == 3});
    for (const PassMaker& maker : pass_makers())
      expect_pass_matches(
          maker, *random.structure, random.bindings,
          {.prob = cpu::ProbType::kF32, .fits_int32 = false, .checked = seed % 2 == 0}, kPlaces);
  }
}

TEST(RandomPrograms, ScoresOfExactOperationsInF64) {
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const auto random = cases::random_program(1000 + seed, {.exact_floats_only = true});
    for (const PassMaker& maker : pass_makers())
      expect_pass_matches(maker, *random.structure, random.bindings,
                          {.is_f64 = true,
                           .prob = cpu::ProbType::kF64,
                           .fits_int32 = false,
                           .checked = seed % 2 == 0},
                          kPlaces);
  }
}

struct Ran {
  RowState state;
  TileResult result;
};

Ran run(const PassMaker& maker, const cases::RandomProgram& random, const TilePlace& place) {
  const cpu::PassVariant variant{.prob = cpu::ProbType::kF32, .fits_int32 = false, .checked = true};
  TileRunner runner(random.bindings, variant, 0.5);
  Ran ran{empty_state(place.rows), {}};
  const auto pass = maker.make(*random.structure, variant);
  ran.result = runner.run(*pass, true, place, random_scores(3, place.rows * place.cols), ran.state);
  return ran;
}

bool same(double a, double b, double relative) {
  if (a != a || b != b) return a != a && b != b;
  return a == b || std::fabs(a - b) <= relative * std::fabs(b) + 1e-37;
}

TEST(RandomPrograms, F32PassesAgreeOnExactOperations) {
  const std::vector<PassMaker> makers = pass_makers();
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const auto random = cases::random_program(2000 + seed, {.exact_floats_only = true});
    const Ran known = run(makers.front(), random, kPlaces[0]);
    for (std::size_t i = 1; i < makers.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << makers[i].name << ", seed " << 2000 + seed);
      const Ran got = run(makers[i], random, kPlaces[0]);
      EXPECT_EQ(got.result.fault.node, known.result.fault.node);
      for (std::size_t r = 0; r < known.state.max.size(); ++r) {
        EXPECT_TRUE(same(got.state.max[r], known.state.max[r], 0));
        EXPECT_TRUE(same(got.state.sum[r], known.state.sum[r], 1e-5));
      }
      for (std::size_t p = 0; p < known.result.prob.size(); ++p)
        EXPECT_TRUE(same(got.result.prob[p], known.result.prob[p], 1e-6))
            << got.result.prob[p] << " and " << known.result.prob[p];
    }
  }
}

}  // namespace
}  // namespace tilewright::test
