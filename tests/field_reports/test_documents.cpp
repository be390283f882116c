// T14: packed sequences, windows, documents.

#include <algorithm>
#include <cmath>
#include <limits>

#include "field_reports/report.h"
#include "support/comparison.h"

namespace tilewright::cases {
namespace {

TEST(FieldReport, C131PackedSequencesWithOneKeyEach) {
  const std::int64_t q_ends[] = {76, 110, 256};
  Tensor sequence(DType::kI32, {256}), position(DType::kI32, {256});
  const auto sequence_of = [&](std::int64_t i) {
    return i < q_ends[0] ? std::int64_t{0} : i < q_ends[1] ? std::int64_t{1} : std::int64_t{2};
  };
  // Rows left until the last one of their sequence: with one key, bottom-right causal is 0 rows
  // left.
  sequence.fill([&](const Dims& at) { return static_cast<double>(sequence_of(at[0])); });
  position.fill(
      [&](const Dims& at) { return static_cast<double>(q_ends[sequence_of(at[0])] - 1 - at[0]); });
  const Capture of("sequence", sequence), left("left", position);
  const Program program = trace([](Score s, Index, Index, Index, Index) { return 9 * s; },
                                [&](Index, Index, Index q, Index kv) {
                                  return (Index(of[q]) == kv) & (Index(left[q]) <= 0);
                                });
  const Extents extents{
      .query_heads = 2, .kv_heads = 2, .q_len = 256, .kv_len = 3, .head_dim = 16, .value_dim = 16};
  Extents one_head = extents;
  one_head.query_heads = one_head.kv_heads = 1;
  EXPECT_EQ(live_pairs(program, one_head), 3);
  const Operands operands = random_operands(extents, DType::kF32, 131);
  const Results results = expect_meaning(program, operands.inputs());
  for (std::int64_t s = 0; s < 3; ++s)
    for (std::int64_t d = 0; d < 16; ++d)
      EXPECT_EQ(results.out.at({0, 1, q_ends[s] - 1, d}), operands.value.at({0, 1, s, d}));
  EXPECT_EQ(results.out.at({0, 1, 10, 3}), 0.0);
  EXPECT_EQ(results.lse->at({0, 1, 10}), -std::numeric_limits<double>::infinity());
}

TEST(FieldReport, C133WindowsAsWideAsTheSequenceAreCausal) {
  for (const std::int64_t length : {130, 1500}) {
    const Operands operands = random_operands(square(1, 1, length, 16), DType::kF32, 133);
    const auto window = [](std::int64_t back) {
      const Number w("window", back);
      return trace([&](Index, Index, Index q, Index kv) { return (kv <= q) & (q - kv <= w); });
    };
    const Results expected = expect_meaning(causal(), operands.inputs());
    expect_same_bits(expect_meaning(window(length - 1), operands.inputs()), expected);
    expect_same_bits(expect_meaning(window(length), operands.inputs()), expected);
  }
}

TEST(FieldReport, C133TheSameAtSixteenThousandTokens) {
  constexpr std::int64_t kLength = 16384;
  const Operands operands = random_operands(square(1, 1, kLength, 4), DType::kF32, 134);
  const Results expected = run_on(fastest_target(), causal(), operands.inputs());
  for (const std::int64_t back : {kLength - 1, kLength, std::int64_t{1} << 40}) {
    const Program window =
        trace([&](Index, Index, Index q, Index kv) { return (kv <= q) & (q - kv <= back); });
    expect_same_bits(run_on(fastest_target(), window, operands.inputs()), expected);
  }
}

TEST(FieldReport, C135WindowCountsAreLiteral) {
  for (const int width : {1, 2, 128}) {
    const Extents extents = square(1, 1, 300, 8);
    const Number w("window", width);
    const Program exclusive =
        trace([&](Index, Index, Index q, Index kv) { return (q - kv >= 0) & (q - kv < w); });
    const Program inclusive =
        trace([&](Index, Index, Index q, Index kv) { return (q - kv >= 0) & (q - kv <= w); });
    const auto rows = [&](std::int64_t keys) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < 300; ++i) sum += std::min(i + 1, keys);
      return sum;
    };
    EXPECT_EQ(live_pairs(exclusive, extents), rows(width));
    EXPECT_EQ(live_pairs(inclusive, extents), rows(width + 1));
    const Operands operands = random_operands(extents, DType::kF32, 135);
    expect_meaning(exclusive, operands.inputs());
    expect_meaning(inclusive, operands.inputs());
  }
}

TEST(FieldReport, C137ChangingOneDocumentLeavesTheOthersBitForBit) {
  Tensor ids(DType::kI32, {300});
  ids.fill([](const Dims& at) { return at[0] < 90 ? 0.0 : at[0] < 211 ? 1.0 : 2.0; });
  const Capture document("document", ids);
  const Program program = trace([&](Index, Index, Index q, Index kv) {
    return (Index(document[q]) == Index(document[kv])) & (q >= kv);
  });
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    Operands operands = random_operands(square(1, 2, 300, 32), dtype, 137);
    const Results before = expect_meaning(program, operands.inputs());
    Random random(1370);
    for (Tensor* tensor : {&operands.query, &operands.key, &operands.value})
      for_each_index(tensor->shape(), [&](const Dims& at) {
        if (at[2] < 90) tensor->set(at, 3 * random.normal());
      });
    const Results after = expect_meaning(program, operands.inputs());
    EXPECT_EQ(compare_bits(slice(before.out, 2, 90, 300), slice(after.out, 2, 90, 300)).reason, "");
    EXPECT_EQ(compare_bits(slice(*before.lse, 2, 90, 300), slice(*after.lse, 2, 90, 300)).reason,
              "");
  }
}

Program neighbourhood(std::int64_t length, std::int64_t kernel) {
  return trace([=](Index, Index, Index q, Index kv) {
    const Value start = max(min(q - kernel / 2, length - kernel), 0);
    return (kv >= start) & (kv < start + kernel);
  });
}

TEST(FieldReport, C139NeighbourhoodsAreClampedAtTheEdges) {
  const Extents extents = square(1, 1, 33, 16);
  const Operands operands = random_operands(extents, DType::kF32, 139);
  EXPECT_EQ(live_pairs(neighbourhood(33, 7), extents), 231);
  EXPECT_EQ(live_pairs(neighbourhood(33, 8), extents), 264);
  EXPECT_EQ(live_pairs(neighbourhood(33, 40), extents), 33 * 33);
  for (const std::int64_t kernel : {7, 8, 40})
    expect_meaning(neighbourhood(33, kernel), operands.inputs());
}

TEST(FieldReport, C139DilatedNeighbourhoodsOnAGrid) {
  // 9 x 11, kernel 3, dilation 2: each row sees, per axis, its own residue class only.
  const Program program = trace([](Index, Index, Index q, Index kv) {
    const auto near = [](const Value& a, const Value& b, int extent) {
      const Value same_class = floor_mod(a, 2) == floor_mod(b, 2);
      const Value members = floor_div(extent - floor_mod(a, 2) + 1, 2);
      const Value start = max(min(floor_div(a, 2) - 1, members - 3), 0);
      return Bool(same_class) & (floor_div(b, 2) >= start) & (floor_div(b, 2) < start + 3);
    };
    return near(floor_div(q, 11), floor_div(kv, 11), 9) &
           near(floor_mod(q, 11), floor_mod(kv, 11), 11);
  });
  const Extents extents = square(1, 1, 99, 16);
  EXPECT_EQ(live_pairs(program, extents), 99 * 9);
  expect_meaning(program, random_operands(extents, DType::kF32, 139).inputs());
}

}  // namespace
}  // namespace tilewright::cases
