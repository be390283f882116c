// The problem table on every target: test_cases runs the covering array. The full product:
// TILEWRIGHT_CASES=full build/tests/test_cases --gtest_filter='*Full*'. One case:
// TILEWRIGHT_CASES=<id> with the same filter.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "support/cases.h"

namespace tilewright::cases {
namespace {

/// One case on every target of this machine, against one meaning.
void expect_passes(const Case& problem) {
  CaseRun run(problem);
  for (const Target& target : available_targets()) {
    const CaseResult result = run.on(target);
    EXPECT_EQ(result.outcome, Outcome::kPassed) << problem.id() << " on " << target.name() << " ("
                                                << result.kernel << "): " << result.reason;
  }
}

class TableTarget : public ::testing::TestWithParam<Target> {};

TEST_P(TableTarget, RunsTheTable) {
  if (const auto reason = unavailable_because(GetParam())) GTEST_SKIP() << *reason;
  expect_passes(all_cases().front());
}

INSTANTIATE_TEST_SUITE_P(Targets, TableTarget, ::testing::ValuesIn(all_targets()),
                         [](const auto& info) {
                           return info.param.cpu_isa.empty() ? info.param.backend
                                                             : info.param.cpu_isa;
                         });

/// Parts of the table, so that processes can share it.
class TablePart : public ::testing::TestWithParam<std::size_t> {};
constexpr std::size_t kParts = 24;

TEST_P(TablePart, CoveringArrayMatchesTheMeaning) {
  for (std::size_t i = GetParam(); i < all_cases().size(); i += kParts)
    expect_passes(all_cases()[i]);
}

INSTANTIATE_TEST_SUITE_P(Parts, TablePart, ::testing::Range(std::size_t{0}, kParts));

TEST(Table, FullProductByCommand) {
  const char* wanted = std::getenv("TILEWRIGHT_CASES");
  if (wanted == nullptr) GTEST_SKIP() << "set TILEWRIGHT_CASES to full or to the id of a case";
  if (std::string(wanted) == "full") return for_every_combination(expect_passes);
  const auto problem = find_case(wanted);
  ASSERT_TRUE(problem.has_value()) << "no case has the id " << wanted;
  expect_passes(*problem);
}

}  // namespace
}  // namespace tilewright::cases
