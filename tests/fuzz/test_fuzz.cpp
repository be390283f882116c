// Random programs, shapes, strides, dtypes: every micro-kernel against the fp64 meaning.
//
//   build/tests/test_fuzz                        the short run with fixed seeds, as ctest runs it
//   build/tests/test_fuzz --count 20000 [--first SEED]
//   build/tests/test_fuzz --case 'SEED:q=3,prune=m.0'

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/fuzz_case.h"
#include "fuzz/fuzz_program.h"
#include "fuzz/fuzz_run.h"
#include "support/targets.h"

namespace tilewright::cases {
namespace {

constexpr std::uint64_t kShortRun = 400;

void expect_passes(std::uint64_t seed) {
  const FuzzCase problem = FuzzCase::from_seed(seed);
  if (failure_of(problem).empty()) return;
  const FuzzCase smallest = shrink(problem);
  ADD_FAILURE() << failure_of(smallest) << "\n  " << reproduction(smallest) << "\n"
                << fuzz_program(smallest).program.text();
}

TEST(Fuzz, ShortRunWithFixedSeeds) {
  for (std::uint64_t seed = 1; seed <= kShortRun; ++seed) expect_passes(seed);
}

/// Outputs of a few numbers: what rounding P to bf16 costs does not average out there.
TEST(Fuzz, OutputsOfAFewNumbers) {
  for (const char* spec :
       {"4661:layout=contiguous,prune=m", "16503:heads=1,kvheads=1,kv=59,e=22,prune=m+s.0"})
    EXPECT_EQ(failure_of(FuzzCase::parse(spec)), "") << spec;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    FuzzCase problem = FuzzCase::from_seed(seed);
    Extents& e = problem.extents;
    e.batch = e.kv_batch = e.query_heads = e.kv_heads = 1;
    e.q_len = 1 + static_cast<std::int64_t>(seed % 12);
    e.value_dim = 1 + static_cast<std::int64_t>(seed % 4);
    problem.dtype = DType::kBF16;
    EXPECT_EQ(failure_of(problem), "") << reproduction(problem);
  }
}

TEST(FuzzCase, SpecsLeadBack) {
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    FuzzCase problem = FuzzCase::from_seed(seed);
    EXPECT_EQ(FuzzCase::parse(problem.spec()).spec(), problem.spec());
    problem.extents.q_len = 3;
    problem.dtype = DType::kF16;
    problem.layout = Layout::kSliced;
    problem.pruned = {"m.0.1", "s"};
    EXPECT_EQ(FuzzCase::parse(problem.spec()).spec(), problem.spec());
  }
  EXPECT_THROW(FuzzCase::parse("x"), std::invalid_argument);
  EXPECT_THROW(FuzzCase::parse("3:width=2"), std::invalid_argument);
}

TEST(FuzzCase, PruningLeavesTheRestOfTheProgramAlone) {
  const FuzzCase problem = FuzzCase::from_seed(11);
  const FuzzProgram whole = fuzz_program(problem);
  EXPECT_EQ(fuzz_program(problem).program.content_digest(), whole.program.content_digest());
  FuzzCase without_mask = problem;
  without_mask.pruned = {"m"};
  EXPECT_FALSE(fuzz_program(without_mask).program.has_mask_mod());
}

/// Runs `count` seeds from `first` on; prints the reproduction of each failure.
int long_run(std::uint64_t first, std::uint64_t count) {
  std::uint64_t failures = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const FuzzCase problem = FuzzCase::from_seed(seed);
    if (!failure_of(problem).empty()) {
      ++failures;
      const FuzzCase smallest = shrink(problem);
      std::printf("%s\n  %s\n", failure_of(smallest).c_str(), reproduction(smallest).c_str());
    }
    if ((seed - first + 1) % 500 == 0)
      std::printf("%llu cases, %llu failures\n", static_cast<unsigned long long>(seed - first + 1),
                  static_cast<unsigned long long>(failures));
    std::fflush(stdout);
  }
  std::printf("%llu cases passed, %llu failed\n", static_cast<unsigned long long>(count - failures),
              static_cast<unsigned long long>(failures));
  return failures == 0 ? 0 : 1;
}

int one_case(const char* spec) {
  const FuzzCase problem = FuzzCase::parse(spec);
  std::printf("%s\n", fuzz_program(problem).program.text().c_str());
  const std::string failure = failure_of(problem);
  std::printf("%s\n", failure.empty() ? "passed" : failure.c_str());
  return failure.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::cases

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::uint64_t first = 1000;
  std::uint64_t count = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--case") return tilewright::cases::one_case(argv[i + 1]);
    if (flag == "--first") first = std::strtoull(argv[i + 1], nullptr, 10);
    if (flag == "--count") count = std::strtoull(argv[i + 1], nullptr, 10);
  }
  if (count != 0) return tilewright::cases::long_run(first, count);
  return RUN_ALL_TESTS();
}
