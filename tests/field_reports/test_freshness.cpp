// T08: values, shapes and masks that change between calls.

#include "field_reports/report.h"
#include "support/comparison.h"

namespace tilewright::cases {
namespace {

TEST(FieldReport, C078EveryCallSeesTheCurrentNumber) {
  const Operands operands = random_operands(square(1, 1, 60, 16), DType::kF32, 78);
  double mutated = 0;
  const auto mod = [&](Score s, Index, Index, Index, Index) { return clamp(s, -mutated, mutated); };
  for (const double c : {1.0, 0.5, 2.0, 0.5}) {
    expect_meaning(trace([c](Score s, Index, Index, Index, Index) { return clamp(s, -c, c); }),
                   operands.inputs());
    mutated = c;
    expect_meaning(trace(mod), operands.inputs());
  }
}

TEST(FieldReport, CapturedTensorsAreReadAtTheCall) {
  Tensor table(DType::kF32, {60});
  table.fill(0.0);
  const Capture bias("bias", table);
  const Program program =
      trace([&](Score s, Index, Index, Index, Index kv) { return s + bias[kv]; });
  Tensor ids(DType::kI32, {60});
  ids.fill(0.0);
  const Capture document("document", ids);
  const Program documents = trace(
      [&](Index, Index, Index q, Index kv) { return Index(document[q]) == Index(document[kv]); });
  const Operands operands = random_operands(square(1, 1, 60, 16), DType::kF32, 79);
  Random random(79);
  for (int call = 0; call < 3; ++call) {
    expect_meaning(program, operands.inputs());
    expect_meaning(documents, operands.inputs());
    table.fill_normal(random);
    ids.fill([&](const Dims& at) { return static_cast<double>(at[0] / (10 + 7 * call)); });
  }
}

TEST(FieldReport, C082LengthsAreExactAndNeverRounded) {
  const Extents extents{.query_heads = 1,
                        .kv_heads = 1,
                        .q_len = 200,
                        .kv_len = 40000,
                        .head_dim = 8,
                        .value_dim = 8};
  // Only the very last keys are live: a length rounded up would see garbage.
  const Program program = trace([](Index, Index, Index, Index kv) { return kv >= 39990; });
  Operands operands = random_operands(extents, DType::kF32, 82);
  expect_meaning(program, operands.inputs());
}

TEST(FieldReport, C084SmallerLastBatch) {
  Tensor table(DType::kI32, {8});
  table.fill([](const Dims& at) { return static_cast<double>(10 + 5 * at[0]); });
  const Capture cut("cut", table);
  const Program program =
      trace([&](Index b, Index, Index, Index kv) { return kv < Index(cut[b]); });
  const Operands operands = random_operands(square(8, 2, 60, 16), DType::kF32, 84);
  const Results eight = expect_meaning(program, operands.inputs());
  const ForwardInputs five{slice(operands.query, 0, 0, 5), slice(operands.key, 0, 0, 5),
                           slice(operands.value, 0, 0, 5)};
  const Results fewer = expect_meaning(program, five);
  EXPECT_EQ(compare_bits(slice(eight.out, 0, 0, 5), fewer.out).reason, "");
}

}  // namespace
}  // namespace tilewright::cases
