// Goldens of the field reports: sums over results of a small fp64 oracle that was checked by finite
// differences.

#include <gtest/gtest.h>

#include <cmath>

#include "support/forward.h"
#include "tilewright/program.h"

namespace tilewright::cases {
namespace {

struct CheckSum {
  double weighted = 0;  ///< sum of x_k * ((37 k mod 101) - 50) / 50
  double absolute = 0;
  std::int64_t infinite = 0;
};

CheckSum check_sum(const Tensor& tensor) {
  CheckSum sum;
  std::int64_t k = 0;
  for_each_index(tensor.shape(), [&](const Dims& index) {
    const double x = tensor.at(index);
    const double weight = static_cast<double>(37 * k++ % 101 - 50) / 50;
    if (std::isinf(x)) {
      ++sum.infinite;
      return;
    }
    sum.weighted += x * weight;
    sum.absolute += std::abs(x);
  });
  return sum;
}

void expect_sum(const Tensor& tensor, double weighted, double absolute, std::int64_t infinite = 0) {
  const CheckSum sum = check_sum(tensor);
  // The table has six decimals.
  EXPECT_NEAR(sum.weighted, weighted, 1e-6);
  EXPECT_NEAR(sum.absolute, absolute, 1e-6);
  EXPECT_EQ(sum.infinite, infinite);
}

Program causal_without_every_fourth() {
  return trace(
      [](Index, Index h, Index q, Index kv) { return (kv <= q) & (floor_mod(q + h, 4) != 3); });
}

TEST(Goldens, G1EmptyRows) {
  const Extents extents = square(1, 2, 40, 8);
  const Operands operands = filled_operands(extents);
  const Program program = causal_without_every_fourth();
  EXPECT_EQ(live_pairs(program, extents), 1210);
  const Reference reference = reference_of(program, operands.inputs());
  expect_sum(reference.out, 2.822760, 333.818491);
  expect_sum(reference.lse, 17.658931, 268.931805, 20);
}

TEST(Goldens, G6SoftcapUnderCausal) {
  const Extents extents = square(1, 2, 33, 16);
  const Operands operands = filled_operands(extents);
  const Program program = trace([](Score s, Index, Index, Index, Index) { return tanh(s); },
                                [](Index, Index, Index q, Index kv) { return kv <= q; });
  EXPECT_EQ(live_pairs(program, extents), 1122);
  const Reference reference =
      reference_of(program, operands.inputs(), {.scale = 1.0, .block_lists = nullptr});
  expect_sum(reference.out, 4.962366, 525.013873);
  expect_sum(reference.lse, 10.720949, 184.033410);
}

TEST(Goldens, G7RelativeTable) {
  const Extents extents = square(2, 2, 24, 8);
  const Operands operands = filled_operands(extents);
  Tensor table(DType::kF32, {48});
  table.fill([](const Dims& at) { return static_cast<double>(29 * at[0] % 61 - 30) / 16; });
  const Capture tab("tab", table);
  const Program program =
      trace([&](Score s, Index, Index, Index q, Index kv) { return s + tab[q - kv + 24]; });
  EXPECT_EQ(live_pairs(program, extents), 2304);
  const Reference reference = reference_of(program, operands.inputs());
  expect_sum(reference.out, -5.826484, 534.779852);
  expect_sum(reference.lse, 3.025726, 530.734162);
}

}  // namespace
}  // namespace tilewright::cases
