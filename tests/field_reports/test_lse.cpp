// T15: log-sum-exp, merging, auxiliary outputs.

#include <cmath>
#include <limits>

#include "field_reports/report.h"
#include "support/comparison.h"

namespace tilewright::cases {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FieldReport, C141LseOfGroupedHeadsInHalfPrecision) {
  const Extents extents{.query_heads = 32,
                        .kv_heads = 8,
                        .q_len = 128,
                        .kv_len = 128,
                        .head_dim = 64,
                        .value_dim = 64};
  const Results results =
      expect_meaning(Program(), random_operands(extents, DType::kBF16, 141).inputs());
  EXPECT_EQ(results.lse->view().dtype, DType::kF32);
  double sum = 0;
  for_each_index(results.lse->shape(), [&](const Dims& at) { sum += results.lse->at(at); });
  // log 128 + half the variance of a score.
  EXPECT_NEAR(sum / static_cast<double>(results.lse->size()), 5.3, 0.1);
}

/// Partials of keys [begin, end) in fp32.
Results partial(const Operands& operands, std::int64_t begin, std::int64_t end) {
  const ForwardInputs part{operands.query.view(), slice(operands.key, 2, begin, end),
                           slice(operands.value, 2, begin, end)};
  Results results = results_for(part, {.out_dtype = DType::kF32});
  engine_on(fastest_target()).attention(Program(), part, results.outputs());
  return results;
}

Results merged(const Results& a, const Results& b) {
  Results into{.out = Tensor(DType::kF32, a.out.shape()),
               .lse = Tensor(DType::kF32, a.lse->shape()),
               .max_scores = Tensor(DType::kF32, a.max_scores->shape())};
  merge_partials(a.outputs(), b.outputs(), into.outputs());
  return into;
}

Results empty_part(const Results& like) {
  Results part{.out = Tensor(DType::kF32, like.out.shape()),
               .lse = Tensor(DType::kF32, like.lse->shape()),
               .max_scores = Tensor(DType::kF32, like.max_scores->shape())};
  part.out.fill(0.0);
  part.lse->fill(-kInfinity);
  part.max_scores->fill(-kInfinity);
  return part;
}

TEST(FieldReport, C143EmptyPartsAreNeutral) {
  const Operands operands = random_operands(square(1, 2, 90, 16), DType::kF32, 143);
  const Results x = partial(operands, 0, 40);
  Results nothing = empty_part(x);
  const Results both = merged(nothing, nothing);
  expect_same_bits(both, nothing);
  expect_same_bits(merged(x, nothing), x);
  expect_same_bits(merged(nothing, x), x);
  // Whatever an empty part holds in out.
  nothing.out.fill(std::nan(""));
  expect_same_bits(merged(x, nothing), x);
}

TEST(FieldReport, C143MergingIsAssociativeAndMeansTheWhole) {
  const Operands operands = random_operands(square(1, 2, 90, 16), DType::kF32, 144);
  const Results a = partial(operands, 0, 40), b = partial(operands, 40, 41),
                c = partial(operands, 41, 90);
  const Results left = merged(merged(a, b), c), right = merged(a, merged(b, c));
  const Reference whole = reference_of(Program(), operands.inputs());
  EXPECT_EQ(mismatch(left, whole, DType::kF32), "");
  EXPECT_EQ(mismatch(right, whole, DType::kF32), "");
}

TEST(FieldReport, MergingRefusesPartsThatDoNotFit) {
  const Operands operands = random_operands(square(1, 2, 30, 16), DType::kF32, 145);
  const Results a = partial(operands, 0, 20);
  Results narrow{
      .out = Tensor(DType::kF32, {1, 2, 30, 8}), .lse = a.lse, .max_scores = a.max_scores};
  EXPECT_THROW(merge_partials(a.outputs(), narrow.outputs(), a.outputs()), Error);
  ForwardOutputs without_lse = a.outputs();
  without_lse.lse.reset();
  EXPECT_THROW(merge_partials(a.outputs(), without_lse, a.outputs()), Error);
  Results half{
      .out = Tensor(DType::kBF16, a.out.shape()), .lse = a.lse, .max_scores = a.max_scores};
  EXPECT_THROW(merge_partials(a.outputs(), half.outputs(), a.outputs()), Error);
}

TEST(FieldReport, C145SinkLogitAfterTheCall) {
  const Operands operands = random_operands(square(1, 3, 50, 16), DType::kF32, 146);
  const Program some_empty =
      trace([](Index, Index, Index q, Index kv) { return (kv <= q) & (q != 9); });
  const Results results = expect_meaning(some_empty, operands.inputs());
  const double sink[] = {-1.5, 0.25, 4.0};
  // The same softmax with one more key, whose score is the sink and whose value is 0.
  const auto with_sink_key = [](const Tensor& tensor) {
    Tensor longer(DType::kF32, {1, 3, 51, 16});
    longer.fill([&](const Dims& at) { return at[2] < 50 ? tensor.at(at) : 0.0; });
    return longer;
  };
  const Tensor key = with_sink_key(operands.key), value = with_sink_key(operands.value);
  Tensor logits(DType::kF32, {3});
  logits.fill([&](const Dims& at) { return sink[at[0]]; });
  const Capture logit("sink", logits);
  const Program program =
      trace([&](Score s, Index, Index h, Index,
                Index kv) { return select(kv == 50, Score(logit[h]), s); },
            [](Index, Index, Index q, Index kv) { return (kv == 50) | ((kv <= q) & (q != 9)); });
  const Results expected =
      expect_meaning(program, {operands.query.view(), key.view(), value.view()});
  for_each_index(results.out.shape(), [&](const Dims& at) {
    const double lse = results.lse->at({0, at[1], at[2]});
    const double a = sink[at[1]];
    const double together =
        lse == -kInfinity ? a : std::max(lse, a) + std::log1p(std::exp(-std::abs(lse - a)));
    EXPECT_NEAR(results.out.at(at) * std::exp(lse - together), expected.out.at(at), 3e-6);
  });
}

TEST(FieldReport, C147MaxScoresAreOfTheModifiedLiveScores) {
  const Program program =
      trace([](Score s, Index, Index, Index q, Index kv) { return 3 * s - 0.1 * abs(q - kv); },
            [](Index, Index h, Index q, Index kv) { return (kv <= q) & (q + h != 5); });
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    const Results results =
        expect_meaning(program, random_operands(square(1, 2, 150, 32), dtype, 147).inputs());
    EXPECT_EQ(results.max_scores->at({0, 0, 5}), -kInfinity);
    EXPECT_EQ(results.max_scores->at({0, 1, 4}), -kInfinity);
  }
}

TEST(FieldReport, C147MaxScoresOfBoundedScores) {
  // A bounded mod needs no running maximum; the output still is the exact one.
  const Program program = trace([](Score s, Index, Index, Index, Index) { return 2 * tanh(s); },
                                [](Index, Index, Index q, Index kv) { return kv <= q; });
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    expect_meaning(program, random_operands(square(1, 2, 150, 32), dtype, 148).inputs());
}

}  // namespace
}  // namespace tilewright::cases
