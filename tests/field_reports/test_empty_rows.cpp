// T01: empty rows, -inf, NaN, extreme scores.

#include <cmath>
#include <limits>

#include "field_reports/report.h"
#include "support/comparison.h"

namespace tilewright::cases {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_empty_row(const Results& results, std::int64_t h, std::int64_t i) {
  for (std::int64_t d = 0; d < results.out.shape()[3]; ++d)
    EXPECT_EQ(results.out.at({0, h, i, d}), 0.0) << h << ", " << i;
  EXPECT_EQ(results.lse->at({0, h, i}), -kInfinity) << h << ", " << i;
  EXPECT_EQ(results.max_scores->at({0, h, i}), -kInfinity) << h << ", " << i;
}

TEST(FieldReport, C001EmptyRowsAreZeroAndMinusInfinity) {
  const Program program = trace(
      [](Index, Index h, Index q, Index kv) { return (kv <= q) & (floor_mod(q + h, 4) != 3); });
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64}) {
    const Operands operands = filled_operands(square(1, 2, 40, 8), dtype);
    const Results results = expect_meaning(program, operands.inputs());
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t i = 0; i < 40; ++i)
        if ((i + h) % 4 == 3) expect_empty_row(results, h, i);
  }
}

TEST(FieldReport, C003RowsThatAreEmptyInTheFirstTileVisited) {
  const Program program =
      trace([](Index, Index, Index q, Index kv) { return (q - kv >= 0) & (q - kv < 8); });
  EXPECT_EQ(live_pairs(program, square(1, 1, 130, 8)), 1012);
  for (const std::int64_t length : {130, 512})
    expect_meaning(program, random_operands(square(1, 2, length, 32), DType::kF32, 3).inputs());
}

/// Every raw product is `level` but that of key 0, which is 5000 more.
Operands one_hot_scores(double level, std::int64_t q_len) {
  Extents extents{.query_heads = 16,
                  .kv_heads = 1,
                  .q_len = q_len,
                  .kv_len = 64,
                  .head_dim = 128,
                  .value_dim = 128};
  Operands operands{.query = Tensor(DType::kF32, extents.query_shape()),
                    .key = Tensor(DType::kF32, extents.key_shape()),
                    .value = Tensor(DType::kF32, extents.value_shape())};
  operands.query.fill([](const Dims& at) { return at[3] == 0 ? 1.0 : 0.0; });
  operands.key.fill([&](const Dims& at) {
    if (at[3] != 0) return 0.0;
    return at[2] == 0 ? level + 5000 : level;
  });
  Random random(5);
  operands.value.fill_normal(random);
  return operands;
}

TEST(FieldReport, C005NoFiniteSentinelBelowVeryNegativeScores) {
  for (const double level : {-1e3, -4e4, -5e4, -6e4, -2.45e5})
    for (const std::int64_t q_len : {1, 5}) {
      const Operands operands = one_hot_scores(level, q_len);
      const Results results = expect_meaning(Program(), operands.inputs());
      const double lse = (level + 5000) / std::sqrt(128.0);
      EXPECT_NEAR(results.lse->at({0, 3, 0}), lse, 1e-6 * std::abs(lse));
      for (std::int64_t d = 0; d < 128; ++d)
        EXPECT_EQ(results.out.at({0, 7, q_len - 1, d}), operands.value.at({0, 0, 0, d}));
    }
}

TEST(FieldReport, C008CappingHappensBeforeMasking) {
  const Program program = trace([](Score s, Index, Index, Index, Index) { return tanh(s); },
                                [](Index, Index, Index q, Index kv) { return kv <= q; });
  const CallOptions options{.scale = 1.0, .block_lists = nullptr};
  Operands operands = filled_operands(square(1, 2, 33, 16));
  const Results before = expect_meaning(program, operands.inputs(), options);
  // Only the last row sees the last key.
  for (std::int64_t d = 0; d < 16; ++d)
    for (std::int64_t h = 0; h < 2; ++h) {
      operands.key.set({0, h, 32, d}, 1e4);
      operands.value.set({0, h, 32, d}, 1e4);
    }
  const Results after = run_on(fastest_target(), program, operands.inputs(), options);
  const auto early = [](const Tensor& tensor) { return slice(tensor, 2, 0, 32); };
  EXPECT_EQ(compare_bits(early(before.out), early(after.out)).reason, "");
  EXPECT_EQ(compare_bits(early(*before.lse), early(*after.lse)).reason, "");
}

TEST(FieldReport, C010LargeHalfProductsStayFinite) {
  const Extents extents = square(1, 1, 40, 192);
  Operands operands = random_operands(extents, DType::kF16, 10);
  operands.query.fill(20.0);
  operands.key.fill(20.0);
  const Results results = expect_meaning(Program(), operands.inputs());
  EXPECT_NEAR(results.lse->at({0, 0, 7}), 76800 / std::sqrt(192.0) + std::log(40.0), 0.06);
}

TEST(FieldReport, C012ShiftedScoresChangeOnlyLse) {
  const Operands operands = random_operands(square(1, 1, 60, 32), DType::kF32, 12);
  const Results plain = expect_meaning(Program(), operands.inputs());
  for (const double shift : {2000.0, -2000.0, 1e5}) {
    const Number by("shift", shift);
    const Program program = trace([&](Score s, Index, Index, Index, Index) { return s + by; });
    const Results shifted = expect_meaning(program, operands.inputs());
    const double bound = 1e-5 + 4 * std::abs(shift) * 0x1p-24;
    for_each_index(plain.out.shape(), [&](const Dims& at) {
      EXPECT_NEAR(shifted.out.at(at), plain.out.at(at), bound * 4);
    });
  }
}

TEST(FieldReport, C014RowsBeyondTheFirstTileOfAWindow) {
  Operands operands = filled_operands(square(1, 1, 640, 4));
  operands.query.fill(1.0);
  operands.key.fill(1.0);
  operands.value.fill(1.0);
  const Program window =
      trace([](Index, Index, Index q, Index kv) { return (q - 10 < kv) & (kv <= q); });
  const auto expect_ones = [&](const Program& program) {
    for (const Target& target : available_targets()) {
      const Results results = run_on(target, program, operands.inputs());
      for_each_index(results.out.shape(), [&](const Dims& at) {
        EXPECT_NEAR(results.out.at(at), 1.0, 0x1p-23) << target.name();
      });
    }
  };
  expect_ones(window);
  for (int tiles = 1; tiles <= 4; ++tiles) {
    const Number first("first", 128 * tiles);
    expect_ones(trace([&](Index, Index, Index, Index kv) { return kv >= first; }));
  }
}

TEST(FieldReport, NanInALiveOperandSpoilsItsRowsOnly) {
  // R11, where the tile of a spoiled key holds no other row's live pair.
  Operands operands = random_operands(square(1, 1, 50, 16), DType::kF32, 11);
  operands.query.set({0, 0, 20, 3}, std::nan(""));
  for (const Target& target : available_targets()) {
    const Results results = run_on(target, Program(), operands.inputs());
    for_each_index(results.out.shape(), [&](const Dims& at) {
      EXPECT_EQ(std::isnan(results.out.at(at)), at[2] == 20) << target.name() << at[2];
    });
    EXPECT_TRUE(std::isnan(results.lse->at({0, 0, 20}))) << target.name();
    EXPECT_FALSE(std::isnan(results.lse->at({0, 0, 21}))) << target.name();
  }
}

TEST(FieldReport, PlusInfinityGivesNanOutAndInfiniteLse) {
  const Program program = trace([](Score s, Index, Index, Index q, Index kv) {
    return select((q == 3) & (kv == 60), Value(kInfinity), s);
  });
  const Operands operands = random_operands(square(1, 1, 70, 16), DType::kF32, 13);
  for (const Target& target : available_targets()) {
    const Results results = run_on(target, program, operands.inputs());
    EXPECT_TRUE(std::isnan(results.out.at({0, 0, 3, 5}))) << target.name();
    EXPECT_EQ(results.lse->at({0, 0, 3}), kInfinity) << target.name();
    EXPECT_EQ(results.max_scores->at({0, 0, 3}), kInfinity) << target.name();
    EXPECT_FALSE(std::isnan(results.out.at({0, 0, 4, 5}))) << target.name();
  }
}

TEST(FieldReport, NanScoreIsLiveAndNeverAnEmptyRow) {
  const Program program =
      trace([](Score s, Index, Index, Index q,
               Index kv) { return select((q == 3) & (kv == 1), log(Score(q - 10)), s); },
            [](Index, Index, Index q, Index kv) { return (q != 3) | (kv == 1); });
  const Operands operands = random_operands(square(1, 1, 40, 16), DType::kF32, 14);
  for (const Target& target : available_targets()) {
    const Results results = run_on(target, program, operands.inputs());
    EXPECT_TRUE(std::isnan(results.out.at({0, 0, 3, 0}))) << target.name();
    EXPECT_TRUE(std::isnan(results.lse->at({0, 0, 3}))) << target.name();
    EXPECT_TRUE(std::isnan(results.max_scores->at({0, 0, 3}))) << target.name();
    EXPECT_FALSE(std::isnan(results.out.at({0, 0, 2, 0}))) << target.name();
  }
}

TEST(FieldReport, DeadScoresAreSelectedAwayWhateverTheyHold) {
  // R3: NaN and inf at dead pairs never show.
  const Program program = trace(
      [](Score s, Index, Index, Index q, Index kv) {
        return select(kv > q, select(floor_mod(kv, 2) == 0, Value(kInfinity), log(Score(q - kv))),
                      s);
      },
      [](Index, Index, Index q, Index kv) { return kv <= q; });
  expect_meaning(program, random_operands(square(1, 2, 140, 16), DType::kF32, 15).inputs());
}

}  // namespace
}  // namespace tilewright::cases
