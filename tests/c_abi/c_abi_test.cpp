#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "c_program.h"
#include "tilewright/c.h"
#include "tilewright/dtype.h"
#include "tilewright/error.h"

namespace tilewright {
namespace {

std::string outcome(const char* (*step)(void)) {
  const char* fault = step();
  return fault == nullptr ? "" : fault;
}

TEST(CAbi, VersionAndNames) { EXPECT_EQ(outcome(check_version_and_names), ""); }
TEST(CAbi, ProgramText) { EXPECT_EQ(outcome(check_program_text), ""); }
TEST(CAbi, Forward) { EXPECT_EQ(outcome(check_forward), ""); }
TEST(CAbi, Backward) { EXPECT_EQ(outcome(check_backward), ""); }
TEST(CAbi, PrepareAndRebind) { EXPECT_EQ(outcome(check_prepare_and_rebind), ""); }
TEST(CAbi, MaskCounts) { EXPECT_EQ(outcome(check_mask_counts), ""); }
TEST(CAbi, Errors) { EXPECT_EQ(outcome(check_errors), ""); }
TEST(CAbi, HostServices) { EXPECT_EQ(outcome(check_host_services), ""); }

TEST(CAbi, LastErrorBelongsToItsThread) {
  tw_program* program = nullptr;
  ASSERT_EQ(tw_program_parse("q >", 3, &program), TW_PARSE);
  const std::string here = tw_last_error();
  std::string there = "unset";
  std::thread([&there] { there = tw_last_error(); }).join();
  EXPECT_EQ(there, "");
  EXPECT_EQ(tw_last_error(), here);
}

TEST(CAbi, NumbersEqualThoseOfTheCppInterface) {
  EXPECT_EQ(static_cast<int>(TW_INTERNAL), static_cast<int>(ErrorCode::kInternal));
  EXPECT_EQ(static_cast<int>(TW_PARSE), static_cast<int>(ErrorCode::kParse));
  EXPECT_EQ(static_cast<int>(TW_IO), static_cast<int>(ErrorCode::kIo));
  EXPECT_EQ(static_cast<int>(TW_BF16), static_cast<int>(DType::kBF16));
  EXPECT_EQ(static_cast<int>(TW_BOOL), static_cast<int>(DType::kBool));
}

}  // namespace
}  // namespace tilewright
