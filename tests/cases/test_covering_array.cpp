#include <gtest/gtest.h>

#include <set>

#include "support/cases.h"
#include "support/covering_array.h"

namespace tilewright::cases {
namespace {

std::size_t pairs_covered(const std::vector<Choice>& rows, std::size_t f, std::size_t g) {
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const Choice& row : rows) seen.emplace(row[f], row[g]);
  return seen.size();
}

void expect_every_pair(const std::vector<Choice>& rows, const std::vector<std::size_t>& sizes) {
  for (std::size_t f = 0; f < sizes.size(); ++f)
    for (std::size_t g = f + 1; g < sizes.size(); ++g)
      EXPECT_EQ(pairs_covered(rows, f, g), sizes[f] * sizes[g]) << f << ", " << g;
}

TEST(CoveringArray, HasEveryPair) {
  for (const std::vector<std::size_t>& sizes :
       std::vector<std::vector<std::size_t>>{{2, 2}, {3, 3, 3}, {5, 1, 4, 2, 2}, {40, 4, 8, 8, 7}})
    expect_every_pair(covering_array(sizes), sizes);
}

TEST(CoveringArray, StaysNearTheLargestProduct) {
  EXPECT_EQ(covering_array({3, 3}).size(), 9U);
  EXPECT_LE(covering_array({3, 3, 3, 3}).size(), 15U);
  EXPECT_LE(covering_array({40, 8, 8, 4}).size(), 40U * 8 * 5 / 4);
}

TEST(CoveringArray, IsTheSameEveryTime) {
  EXPECT_EQ(covering_array({7, 3, 5}), covering_array({7, 3, 5}));
}

TEST(FullProduct, HasEveryRowOnce) {
  const auto rows = full_product({2, 3, 4});
  EXPECT_EQ(std::set<Choice>(rows.begin(), rows.end()).size(), 24U);
}

TEST(ProblemTable, CoversEveryPairOfFactors) {
  std::vector<Choice> rows;
  std::vector<std::size_t> sizes;
  for (const Case& problem : all_cases()) rows.push_back(problem.choice());
  for (const Factor& factor : factors()) sizes.push_back(factor.values.size());
  expect_every_pair(rows, sizes);
}

TEST(ProblemTable, IdsAreUniqueAndLeadBack) {
  std::set<std::string> ids;
  for (const Case& problem : all_cases()) {
    EXPECT_TRUE(ids.insert(problem.id()).second);
    const auto found = find_case(problem.id());
    ASSERT_TRUE(found.has_value()) << problem.id();
    EXPECT_EQ(found->choice(), problem.choice());
  }
  EXPECT_FALSE(find_case("").has_value());
  EXPECT_FALSE(find_case("causal").has_value());
  EXPECT_FALSE(find_case(all_cases().front().id() + "-more").has_value());
}

}  // namespace
}  // namespace tilewright::cases
