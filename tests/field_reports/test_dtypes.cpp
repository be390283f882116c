// T17 to T19: devices, dtypes, zero-size problems.

#include <limits>

#include "field_reports/report.h"
#include "support/comparison.h"

namespace tilewright::cases {
namespace {

TEST(FieldReport, C157DevicesDefaultToCpuAndMismatchesNameBoth) {
  const Operands operands = random_operands(square(1, 1, 20, 16), DType::kF32, 157);
  EXPECT_EQ(operands.query.view().device, Device{});
  TensorView elsewhere = operands.key.view();
  elsewhere.device = {.kind = DeviceKind::kCuda, .ordinal = 0};
  const Results results = results_for(operands.inputs());
  for (const Target& target : available_targets()) {
    try {
      engine_on(target).attention(
          Program(), {operands.query.view(), elsewhere, operands.value.view()}, results.outputs());
      ADD_FAILURE() << target.name();
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("cuda:0"), std::string::npos) << text;
      EXPECT_NE(text.find("cpu"), std::string::npos) << text;
      EXPECT_NE(text.find("key"), std::string::npos) << text;
    }
  }
}

TEST(FieldReport, C160MixedDtypesAreRefused) {
  const Operands half = random_operands(square(1, 1, 20, 16), DType::kF16, 160);
  const Operands single = random_operands(square(1, 1, 20, 16), DType::kF32, 160);
  expect_error(Program(), {half.query.view(), single.key.view(), single.value.view()},
               ErrorCode::kInvalidArgument, {"f16", "f32", "key"});
  expect_error(Program(), {single.query.view(), single.key.view(), half.value.view()},
               ErrorCode::kInvalidArgument, {"f16", "f32", "value"});
}

TEST(FieldReport, C162SinglePrecisionMeansSinglePrecision) {
  const Operands operands = random_operands(square(1, 2, 700, 128), DType::kF32, 162);
  const Results results = expect_meaning(Program(), operands.inputs());
  const Reference reference = reference_of(Program(), operands.inputs());
  double magnitude = 0;
  for_each_index(reference.out.shape(), [&](const Dims& at) {
    magnitude = std::max(magnitude, std::abs(reference.out.at(at)));
  });
  for_each_index(reference.out.shape(), [&](const Dims& at) {
    EXPECT_NEAR(results.out.at(at), reference.out.at(at), 1e-5 * magnitude);
  });
}

TEST(FieldReport, C164DoublePrecisionThroughout) {
  Tensor table(DType::kF64, {50, 50});
  Random random(164);
  table.fill_normal(random);
  const Capture bias("bias", table);
  const Program program =
      trace([&](Score s, Index, Index, Index q, Index kv) { return 2 * tanh(s / 2) + bias[q][kv]; },
            [](Index, Index, Index q, Index kv) { return kv <= q + 3; });
  const Operands operands = random_operands(square(1, 2, 50, 24), DType::kF64, 164);
  const Reference reference = reference_of(program, operands.inputs());
  for (const Target& target : available_targets()) {
    const Results results = run_on(target, program, operands.inputs());
    for_each_index(reference.out.shape(), [&](const Dims& at) {
      EXPECT_NEAR(results.out.at(at), reference.out.at(at), 1e-10) << target.name();
    });
  }
  expect_meaning(program, operands.inputs());
}

TEST(FieldReport, C166EmptyBatchesAndNoHeads) {
  Tensor cuts(DType::kI32, {0});
  const Capture cut("cut", cuts);
  const Program by_batch =
      trace([&](Index b, Index, Index, Index kv) { return kv < Index(cut[b]); });
  const Extents no_batch = square(0, 2, 30, 16);
  Extents no_heads = square(2, 0, 30, 16);
  for (const Program& program : {Program(), causal(), by_batch})
    for (const Extents& extents : {no_batch, no_heads}) {
      const Operands operands = random_operands(extents, DType::kF32, 166);
      const Results results = expect_meaning(program, operands.inputs());
      EXPECT_EQ(results.out.size(), 0);
    }
}

TEST(FieldReport, C168NoQueriesOrNoKeys) {
  Extents no_queries = square(2, 2, 7, 16);
  no_queries.q_len = 0;
  expect_meaning(causal(), random_operands(no_queries, DType::kF32, 168).inputs());
  Extents no_keys = square(2, 2, 7, 16);
  no_keys.kv_len = 0;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    const Results results = expect_meaning(causal(), random_operands(no_keys, dtype, 168).inputs());
    EXPECT_EQ(results.out.at({1, 1, 6, 15}), 0.0);
    EXPECT_EQ(results.lse->at({1, 1, 6}), -std::numeric_limits<double>::infinity());
  }
}

}  // namespace
}  // namespace tilewright::cases
