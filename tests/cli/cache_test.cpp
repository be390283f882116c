#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"
#include "support/scratch_folder.h"

// `tilewright cache` on a GPU kernel that fake libraries have compiled.
namespace tilewright {
namespace {

using nlohmann::json;
using testing::ProgramRun;
using testing::run_program;
using testing::ScratchFolder;

/// PATH with a folder in front, for as long as this lives.
class PathWith {
 public:
  explicit PathWith(const std::string& folder) : before_(std::getenv("PATH")) {
    ::setenv("PATH", (folder + ":" + before_).c_str(), 1);
  }
  ~PathWith() { ::setenv("PATH", before_.c_str(), 1); }
  PathWith(const PathWith&) = delete;
  PathWith& operator=(const PathWith&) = delete;

 private:
  std::string before_;
};

class CacheVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string fakes = TILEWRIGHT_BINARY_DIR "/tests/fakes/";
    const ProgramRun made = run_program(
        {"explain", "--device", "cuda", "--backend", "cuda", "--dtype", "bf16", "--dim", "64",
         "--q", "256", "--mask", "q >= kv", "--stage", "plan", "--cache-dir", folder_},
        {"TILEWRIGHT_CUDA_DRIVER=" + fakes + "fake_cuda.so",
         "TILEWRIGHT_NVRTC=" + fakes + "fake_nvrtc_13.so"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const json listed = json::parse(cache({"--list", "--json"}).out);
    ASSERT_EQ(listed["kernels"], 1);
    entry_ = listed["entries"][0];
  }

  ProgramRun cache(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"cache", "--cache-dir", folder_});
    return run_program(arguments);
  }

  ScratchFolder scratch_;
  std::string folder_ = scratch_.file("kernels");
  json entry_;
};

TEST_F(CacheVerb, ListsRegistersAndSpills) {
  const std::string usage = entry_["usage"];
  EXPECT_NE(usage.find("registers 168\n"), std::string::npos) << usage;
  EXPECT_NE(usage.find("spill_store_bytes 24\n"), std::string::npos) << usage;
  const std::string text = cache({"--list"}).out;
  EXPECT_NE(text.find(", registers 168, stack_bytes 16"), std::string::npos) << text;
}

TEST_F(CacheVerb, ShowsTheSourceOfAKernel) {
  const ProgramRun run = cache({"--source", std::string(entry_["key"]).substr(0, 8)});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("extern \"C\" __global__"), std::string::npos);
  EXPECT_NE(cache({"--source", "nokey"}).exit_code, 0);
}

TEST_F(CacheVerb, ShowsMachineCodeWhereADisassemblerIs) {
  const std::string tool = scratch_.file("nvdisasm");
  std::ofstream(tool)
      << "#!/bin/sh\nfor file; do :; done\necho \"code of $(head -c 10 \"$file\")\"\n";
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  const PathWith path(scratch_.path());
  const ProgramRun run = cache({"--sass", entry_["key"]});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out.substr(0, 18), "code of fake cubin");
}

TEST_F(CacheVerb, ClearLeavesNothing) {
  EXPECT_EQ(json::parse(cache({"--clear", "--json"}).out)["removed"], 1);
  EXPECT_EQ(json::parse(cache({"--list", "--json"}).out)["kernels"], 0);
}

}  // namespace
}  // namespace tilewright
