#include "backends/cuda/driver/nvtx.h"

#include <gtest/gtest.h>

#include <array>

#include "backends_cuda/fakes.h"

namespace tilewright::cuda {
namespace {

TEST(NvtxRanges, OpenAndCloseWhereTheLibraryIsThere) {
  const std::array<std::string, 2> names{"/nowhere/libnvToolsExt.so.1",
                                         fakes::library("fake_nvtx")};
  const Nvtx nvtx = Nvtx::find(names);
  ASSERT_TRUE(nvtx.available());
  std::string why;
  const auto library = DynamicLibrary::open(fakes::library("fake_nvtx"), why);
  ASSERT_TRUE(library) << why;
  int (*open)() = nullptr;
  const char* (*last)() = nullptr;
  ASSERT_TRUE(library->resolve("fake_nvtx_open", open));
  ASSERT_TRUE(library->resolve("fake_nvtx_last", last));
  {
    const Nvtx::Range range(nvtx, "attention_e64");
    EXPECT_EQ(open(), 1);
    EXPECT_STREQ(last(), "attention_e64");
  }
  EXPECT_EQ(open(), 0);
}

TEST(NvtxRanges, AreNothingWhereTheLibraryIsNot) {
  // The second is a library without the functions.
  const std::array<std::string, 2> names{"/nowhere/libnvToolsExt.so.1", fakes::driver_library()};
  const Nvtx nvtx = Nvtx::find(names);
  EXPECT_FALSE(nvtx.available());
  const Nvtx::Range range(nvtx, "nothing happens");
}

}  // namespace
}  // namespace tilewright::cuda
