// T04: broadcasting and grouped heads.

#include "field_reports/report.h"
#include "support/comparison.h"

namespace tilewright::cases {
namespace {

TEST(FieldReport, C037AHeadThatSeesNothing) {
  const Program program =
      trace([](Index, Index h, Index q, Index kv) { return (h != 0) & (q >= kv); });
  const Operands operands = random_operands(square(1, 32, 8, 128), DType::kBF16, 37);
  const Results results = expect_meaning(program, operands.inputs());
  for (std::int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(results.out.at({0, 0, i, 100}), 0.0);
    EXPECT_NE(results.out.at({0, 1, i, 100}), 0.0);
  }
}

TEST(FieldReport, C039AnyGroupSize) {
  for (const std::int64_t group : {1, 2, 3, 5, 6, 7, 8, 12}) {
    const Extents extents{.query_heads = 2 * group,
                          .kv_heads = 2,
                          .q_len = 1,
                          .kv_len = 4096,
                          .head_dim = 16,
                          .value_dim = 16};
    expect_meaning(Program(), random_operands(extents, DType::kF32, 39).inputs());
  }
}

TEST(FieldReport, C118DecodeWithEveryGroupSize) {
  for (const std::int64_t group : {1, 4, 9, 13, 15, 16, 32}) {
    const Extents extents{.batch = 2,
                          .kv_batch = 2,
                          .query_heads = group,
                          .kv_heads = 1,
                          .q_len = 1,
                          .kv_len = 333,
                          .head_dim = 64,
                          .value_dim = 64};
    const Program program =
        trace([](Score s, Index, Index h, Index, Index kv) { return s + 0.01 * (h + 1.0) * kv; });
    expect_meaning(program, random_operands(extents, DType::kBF16, 118).inputs());
  }
}

TEST(FieldReport, C041ModsReceiveTheQueryHead) {
  const Extents extents{
      .query_heads = 8, .kv_heads = 2, .q_len = 40, .kv_len = 40, .head_dim = 32, .value_dim = 32};
  const Operands operands = random_operands(extents, DType::kF32, 41);
  Tensor factor(DType::kF32, {8});
  factor.fill([](const Dims& at) { return at[0] == 5 ? 3.0 : 1.0; });
  const Capture c("factor", factor);
  const Program program = trace([&](Score s, Index, Index h, Index, Index) { return s * c[h]; });
  const Results scaled = expect_meaning(program, operands.inputs());
  const Results plain = expect_meaning(Program(), operands.inputs());
  const CallOptions tripled{.scale = 3 / std::sqrt(32.0), .block_lists = nullptr};
  const Results steep = expect_meaning(Program(), operands.inputs(), tripled);
  for (std::int64_t h = 0; h < 8; ++h) {
    const Results& same = h == 5 ? steep : plain;
    for (std::int64_t d = 0; d < 32; ++d)
      EXPECT_NEAR(scaled.out.at({0, h, 17, d}), same.out.at({0, h, 17, d}), 1e-5) << h;
  }
}

TEST(FieldReport, C043KeysSharedByTheBatch) {
  const Extents extents{.batch = 8,
                        .kv_batch = 1,
                        .query_heads = 4,
                        .kv_heads = 2,
                        .q_len = 30,
                        .kv_len = 50,
                        .head_dim = 16,
                        .value_dim = 16};
  const Operands shared = random_operands(extents, DType::kF32, 43);
  const Program program = trace([](Index b, Index, Index q, Index kv) { return kv <= q + 3 * b; });
  const Results results = expect_meaning(program, shared.inputs());
  const ForwardInputs expanded{shared.query.view(), expand(shared.key, 0, 8),
                               expand(shared.value, 0, 8)};
  const Results wide = expect_meaning(program, expanded);
  for_each_index(results.out.shape(),
                 [&](const Dims& at) { EXPECT_NEAR(results.out.at(at), wide.out.at(at), 1e-6); });
}

}  // namespace
}  // namespace tilewright::cases
