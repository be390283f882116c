// Every pair of factors of the problem table, forward and backward, on every target of this
// machine.

#include <gtest/gtest.h>

#include <algorithm>

#include "support/gradient_cases.h"

namespace tilewright::cases {
namespace {

/// Cases are dealt out to a few tests so that they can run side by side.
constexpr std::size_t kShards = 48;

class GradientCases : public testing::TestWithParam<std::size_t> {};

TEST_P(GradientCases, AgreeWithTheMeaning) {
  std::string failures;
  for (std::size_t i = GetParam(); i < all_cases().size(); i += kShards) {
    const Case& problem = all_cases()[i];
    for (const Target& target : available_targets()) {
      if (target.backend == "reference") continue;
      const CaseResult result = run_gradient_case(problem, target);
      if (result.outcome != Outcome::kPassed)
        failures += target.name() + " " + problem.id() + ": " + result.reason + "\n";
    }
  }
  EXPECT_EQ(failures, "");
}

INSTANTIATE_TEST_SUITE_P(Shard, GradientCases, testing::Range<std::size_t>(0, kShards));

}  // namespace
}  // namespace tilewright::cases
