// The problem table on every target: test_cases runs the covering array. The full product:
// TILEWRIGHT_CASES=full build/tests/test_cases --gtest_filter='*Full*'. One case:
// TILEWRIGHT_CASES=<id> with the same filter.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "support/cases.h"

namespace tilewright::cases {
namespace {

void expect_passes(const Case& problem, const Target& target) {
  const CaseResult result = run_case(problem, target);
  EXPECT_EQ(result.outcome, Outcome::kPassed)
      << problem.id() << " on " << target.name() << " (" << result.kernel << "): " << result.reason;
}

class Table : public ::testing::TestWithParam<Target> {};

TEST_P(Table, CoveringArrayMatchesTheMeaning) {
  if (const auto reason = unavailable_because(GetParam())) GTEST_SKIP() << *reason;
  for (const Case& problem : all_cases()) expect_passes(problem, GetParam());
}

TEST_P(Table, FullProductByCommand) {
  const char* wanted = std::getenv("TILEWRIGHT_CASES");
  if (wanted == nullptr) GTEST_SKIP() << "set TILEWRIGHT_CASES to full or to the id of a case";
  if (const auto reason = unavailable_because(GetParam())) GTEST_SKIP() << *reason;
  if (std::string(wanted) == "full")
    return for_every_combination([](const Case& problem) { expect_passes(problem, GetParam()); });
  const auto problem = find_case(wanted);
  ASSERT_TRUE(problem.has_value()) << "no case has the id " << wanted;
  expect_passes(*problem, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Targets, Table, ::testing::ValuesIn(all_targets()), [](const auto& info) {
  return info.param.cpu_isa.empty() ? info.param.backend : info.param.cpu_isa;
});

}  // namespace
}  // namespace tilewright::cases
