// The comparison is tested itself: a correct tiled kernel passes with room to spare, and a kernel
// that drops, repeats or unmasks one key tile fails at every length.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "semantics/tiled_kernel.h"
#include "support/comparison.h"
#include "support/forward.h"

namespace tilewright::cases {
namespace {

using Scenario = std::tuple<DType, std::int64_t>;

class Comparison : public ::testing::TestWithParam<Scenario> {
 protected:
  void SetUp() override {
    const DType dtype = std::get<0>(GetParam());
    const std::int64_t live_keys = std::get<1>(GetParam());
    live_keys_ = live_keys;
    Extents extents = square(1, 1, live_keys + TiledKernel::kTile, 16);
    extents.q_len = 8;
    operands_.emplace(random_operands(extents, dtype, 7 + static_cast<std::uint64_t>(live_keys)));
    const Program program = trace([&](Index, Index, Index, Index kv) { return kv < live_keys; });
    reference_.emplace(reference_of(program, operands_->inputs()));
  }

  Verdict judge(Mutation mutation) {
    Results results = results_for(operands_->inputs(), {.out_dtype = {}, .max_scores = false});
    TiledKernel{.live_keys = live_keys_, .mutation = mutation}.run(operands_->inputs(),
                                                                   results.outputs());
    lse_ = compare_rows(*results.lse, reference_->lse, std::get<0>(GetParam()));
    return compare_out(results.out, reference_->out, reference_->plain_out(),
                       std::get<0>(GetParam()));
  }

  std::optional<Operands> operands_;
  std::optional<Reference> reference_;
  std::int64_t live_keys_ = 0;
  Verdict lse_;
};

TEST_P(Comparison, PassesACorrectKernelWithMarginAndFailsEveryMutant) {
  const Verdict correct = judge(Mutation::kNone);
  EXPECT_TRUE(correct.passed) << correct.reason;
  EXPECT_TRUE(lse_.passed) << lse_.reason;
  EXPECT_LT(correct.mean_error, 0.7 * correct.mean_bound);
  for (const Mutation mutation :
       {Mutation::kDropTile, Mutation::kVisitTwice, Mutation::kUnmaskTile}) {
    const Verdict broken = judge(mutation);
    EXPECT_FALSE(broken.passed) << static_cast<int>(mutation);
    EXPECT_GT(broken.mean_error, 1.3 * broken.mean_bound) << static_cast<int>(mutation);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lengths, Comparison,
    ::testing::Combine(::testing::Values(DType::kF32, DType::kF16, DType::kBF16),
                       ::testing::Values<std::int64_t>(256, 512, 1024, 4096, 16384, 65536, 131072)),
    [](const auto& info) {
      return std::string(tilewright::name(std::get<0>(info.param))) + "_" +
             std::to_string(std::get<1>(info.param));
    });

Tensor constant(DType dtype, double value) {
  Tensor tensor(dtype, {1, 1, 4, 4});
  tensor.fill(value);
  return tensor;
}

TEST(ComparisonRules, NanInTheReferenceFails) {
  const Tensor one = constant(DType::kF32, 1);
  const Tensor nan = constant(DType::kF32, std::nan(""));
  EXPECT_FALSE(compare_out(nan, nan, nan, DType::kF32).passed);
  EXPECT_FALSE(compare_out(one, nan, one, DType::kF32).passed);
  EXPECT_FALSE(compare_out(one, one, nan, DType::kF32).passed);
  EXPECT_FALSE(compare_rows(nan, nan, DType::kF32).passed);
}

TEST(ComparisonRules, NanInTheResultFails) {
  const Tensor one = constant(DType::kF32, 1);
  Tensor result = constant(DType::kF32, 1);
  result.set({0, 0, 2, 3}, std::nan(""));
  EXPECT_FALSE(compare_out(result, one, one, DType::kF32).passed);
  EXPECT_FALSE(compare_rows(result, one, DType::kF32).passed);
}

TEST(ComparisonRules, InfinitiesOfRowsMustAgree) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor low = constant(DType::kF32, -kInfinity);
  EXPECT_TRUE(compare_rows(low, low, DType::kF32).passed);
  EXPECT_FALSE(compare_rows(constant(DType::kF32, kInfinity), low, DType::kF32).passed);
  EXPECT_FALSE(compare_rows(constant(DType::kF32, -1e30), low, DType::kF32).passed);
  EXPECT_FALSE(compare_rows(low, constant(DType::kF32, 0), DType::kF32).passed);
}

TEST(ComparisonRules, RowsAreRelativeToAtLeastOne) {
  EXPECT_TRUE(
      compare_rows(constant(DType::kF64, 9e-6), constant(DType::kF64, 0), DType::kBF16).passed);
  EXPECT_FALSE(
      compare_rows(constant(DType::kF64, 1.1e-5), constant(DType::kF64, 0), DType::kF32).passed);
  EXPECT_TRUE(
      compare_rows(constant(DType::kF64, 1000.009), constant(DType::kF64, 1000), DType::kF32)
          .passed);
  EXPECT_FALSE(
      compare_rows(constant(DType::kF64, 1 + 2e-11), constant(DType::kF64, 1), DType::kF64).passed);
}

TEST(ComparisonRules, BothBoundsCount) {
  // A tenth of eps everywhere passes; a little more, spread evenly, breaks the mean rule only.
  const Tensor one = constant(DType::kF64, 1);
  EXPECT_TRUE(compare_out(constant(DType::kF64, 1 + 0.9e-6), one, one, DType::kF32).passed);
  EXPECT_FALSE(compare_out(constant(DType::kF64, 1 + 1.1e-6), one, one, DType::kF32).passed);
  Tensor spike = constant(DType::kF64, 1);
  spike.set({0, 0, 1, 1}, 1 + 1.1e-5);
  EXPECT_FALSE(compare_out(spike, one, one, DType::kF32).passed);
}

TEST(ComparisonRules, ZeroMustBeZeroWhereTheMeaningIsAllZero) {
  const Tensor zero = constant(DType::kF32, 0);
  EXPECT_TRUE(compare_out(zero, zero, zero, DType::kF32).passed);
  EXPECT_FALSE(compare_out(constant(DType::kF32, 1e-30), zero, zero, DType::kF32).passed);
}

TEST(ComparisonRules, BitsTellSignedZerosApart) {
  EXPECT_TRUE(compare_bits(constant(DType::kF32, 0), constant(DType::kF32, 0)).passed);
  EXPECT_FALSE(compare_bits(constant(DType::kF32, 0), constant(DType::kF32, -0.0)).passed);
}

}  // namespace
}  // namespace tilewright::cases
