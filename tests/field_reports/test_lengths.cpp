// T02: lengths that do not divide the tile.

#include "field_reports/report.h"

namespace tilewright::cases {
namespace {

Tensor guarded_normal(DType dtype, const Dims& shape, Layout layout, std::uint64_t seed) {
  Tensor tensor(TensorSpec{
      .dtype = dtype, .shape = shape, .layout = layout, .placement = Placement::kGuardAfter});
  Random random(seed);
  tensor.fill_normal(random);
  return tensor;
}

TEST(FieldReport, C015DecodeLoopNeverReadsPastTheKeys) {
  std::int32_t offset_value = 0;
  const Capture offset("offset", contiguous(&offset_value, DType::kI32, {}));
  const Program program = trace([&](Index, Index, Index q, Index kv) { return q + offset >= kv; });
  for (std::int64_t kv_len = 128; kv_len < 228; ++kv_len) {
    const Extents extents{.query_heads = 4,
                          .kv_heads = 4,
                          .q_len = 1,
                          .kv_len = kv_len,
                          .head_dim = 64,
                          .value_dim = 64};
    const Operands operands{
        .query = guarded_normal(DType::kF16, extents.query_shape(), Layout::kTransposed, 1),
        .key = guarded_normal(DType::kF16, extents.key_shape(), Layout::kTransposed, 2),
        .value = guarded_normal(DType::kF16, extents.value_shape(), Layout::kTransposed, 3)};
    offset_value = static_cast<std::int32_t>(kv_len - 1 - kv_len % 3);
    expect_meaning(program, operands.inputs());
  }
}

TEST(FieldReport, OperandsAtBothEndsOfTheirPages) {
  for (const Placement placement : {Placement::kGuardAfter, Placement::kGuardBefore})
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64})
      for (const std::int64_t dim : {3, 31, 64}) {
        const Extents extents{.query_heads = 2,
                              .kv_heads = 1,
                              .q_len = 67,
                              .kv_len = 131,
                              .head_dim = dim,
                              .value_dim = dim + 2};
        Operands operands{.query = Tensor(TensorSpec{.dtype = dtype,
                                                     .shape = extents.query_shape(),
                                                     .layout = Layout::kContiguous,
                                                     .placement = placement}),
                          .key = Tensor(TensorSpec{.dtype = dtype,
                                                   .shape = extents.key_shape(),
                                                   .layout = Layout::kContiguous,
                                                   .placement = placement}),
                          .value = Tensor(TensorSpec{.dtype = dtype,
                                                     .shape = extents.value_shape(),
                                                     .layout = Layout::kContiguous,
                                                     .placement = placement})};
        Random random(9);
        operands.query.fill_normal(random);
        operands.key.fill_normal(random);
        operands.value.fill_normal(random);
        expect_meaning(causal(), operands.inputs());
      }
}

TEST(FieldReport, C016ModsSeeOnlyPositionsOfTheProblem) {
  constexpr std::int64_t kLength = 2046;
  Tensor table(TensorSpec{.dtype = DType::kBool,
                          .shape = {kLength},
                          .layout = Layout::kContiguous,
                          .placement = Placement::kGuardAfter});
  table.fill([](const Dims& at) { return at[0] % 7 != 2; });
  const Capture visible("visible", table);
  const Program program = trace([&](Index, Index, Index q, Index) { return Bool(visible[q]); });
  expect_meaning(program, random_operands(square(1, 1, kLength, 8), DType::kF32, 16).inputs());
}

TEST(FieldReport, C019LengthsThatAreNoMultipleOf32) {
  for (const Extents& extents : ragged_extents()) {
    Tensor table = half_visible(extents);
    const Capture visible("visible", table);
    const Program program =
        trace([&](Index, Index, Index q, Index kv) { return Bool(visible[q][kv]); });
    expect_meaning(program, random_operands(extents, DType::kF32, 19).inputs());
    expect_meaning(program, random_operands(extents, DType::kBF16, 19).inputs());
  }
}

TEST(FieldReport, C021LengthOf4250) {
  expect_meaning(causal(), random_operands(square(1, 1, 4250, 64), DType::kBF16, 21).inputs());
}

TEST(FieldReport, C022ShortQueriesAgainstLongKeys) {
  const Extents extents{
      .query_heads = 2, .kv_heads = 2, .q_len = 20, .kv_len = 300, .head_dim = 32, .value_dim = 32};
  const Program program = trace([](Index, Index, Index q, Index kv) { return q + 280 >= kv; });
  expect_meaning(program, random_operands(extents, DType::kF32, 22).inputs());
}

}  // namespace
}  // namespace tilewright::cases
