// T10: head dimensions.

#include <cmath>

#include "field_reports/report.h"
#include "support/comparison.h"

namespace tilewright::cases {
namespace {

Extents with_dims(std::int64_t head_dim, std::int64_t value_dim) {
  return {.query_heads = 4,
          .kv_heads = 2,
          .q_len = 40,
          .kv_len = 77,
          .head_dim = head_dim,
          .value_dim = value_dim};
}

TEST(FieldReport, C094OutHasTheValueDim) {
  for (const auto& [e, ev] : {std::pair{128, 512}, std::pair{64, 128}, std::pair{512, 1}})
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const Operands operands = random_operands(with_dims(e, ev), dtype, 94);
      EXPECT_EQ(expect_meaning(causal(), operands.inputs()).out.shape()[3], ev);
    }
}

TEST(FieldReport, C096MultiplesOf8And16) {
  for (const std::int64_t dim : {72, 80, 96, 112, 136, 144, 160, 176})
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
      expect_meaning(causal(), random_operands(with_dims(dim, dim), dtype, 96).inputs());
}

TEST(FieldReport, C097OddDimsAndNanBehindThem) {
  for (const std::int64_t dim : {31, 17, 1, 3, 5, 511, 512})
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64})
      // A sliced layout is surrounded by NaN.
      expect_meaning(causal(),
                     random_operands(with_dims(dim, dim), dtype, 97, Layout::kSliced).inputs());
}

TEST(FieldReport, C098SmallHeads) {
  for (const std::int64_t dim : {8, 16})
    for (const DType dtype : {DType::kF32, DType::kBF16})
      expect_meaning(causal(), random_operands(with_dims(dim, dim), dtype, 98).inputs());
}

TEST(FieldReport, C100ScaleIsOfTheTrueDimAndAppliedOnce) {
  const Operands operands = random_operands(square(1, 2, 60, 96), DType::kF32, 100);
  for (const std::optional<double> scale :
       {std::optional<double>{}, std::optional{0.0}, std::optional{-0.3}, std::optional{1.0},
        std::optional{2.0}})
    expect_meaning(causal(), operands.inputs(), {.scale = scale, .block_lists = nullptr});
  const Results by_default = run_on(fastest_target(), Program(), operands.inputs());
  const Results written = run_on(fastest_target(), Program(), operands.inputs(),
                                 {.scale = 1 / std::sqrt(96.0), .block_lists = nullptr});
  expect_same_bits(by_default, written);
  const Results uniform = run_on(fastest_target(), Program(), operands.inputs(),
                                 {.scale = 0.0, .block_lists = nullptr});
  EXPECT_NEAR(uniform.lse->at({0, 0, 5}), std::log(60.0), 1e-5);
}

}  // namespace
}  // namespace tilewright::cases
