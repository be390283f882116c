// Goldens of the field reports: sums over results of a small fp64 oracle that was checked by finite
// differences.

#include <gtest/gtest.h>

#include <cmath>

#include "support/backward.h"
#include "support/fill.h"
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

/// Of out, with dO = FILL(4).
Gradients golden_gradients(const Program& program, const Operands& operands,
                           const CallOptions& options = {}) {
  TrainingStep step = step_of(operands, 1);
  fill_with(step.d_out, 4);
  return gradient_reference_of(program, step, options).meaning;
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
  const Gradients gradients = golden_gradients(program, operands);
  expect_sum(gradients.d_query, 2.535553, 125.167649);
  expect_sum(gradients.d_key, -6.818143, 265.415860);
  expect_sum(gradients.d_value, 4.147491, 335.735607);
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
  const Gradients gradients =
      golden_gradients(program, operands, {.scale = 1.0, .block_lists = nullptr});
  expect_sum(gradients.d_query, 7.538586, 325.536403);
  expect_sum(gradients.d_key, 9.027488, 334.068535);
  expect_sum(gradients.d_value, 11.197522, 406.960368);
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
  const Gradients gradients = golden_gradients(program, operands);
  expect_sum(gradients.d_query, 2.353322, 276.370720);
  expect_sum(gradients.d_key, 20.375717, 530.406681);
  expect_sum(gradients.d_value, 11.702908, 585.477153);
  const Tensor& d_table = gradients.captures.at("tab");
  expect_sum(d_table, 2.879503, 74.089675);
  EXPECT_EQ(d_table.at({0}), 0);
  EXPECT_NEAR(d_table.at({24}), -0.41017904, 1e-8);
}

}  // namespace
}  // namespace tilewright::cases
