#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.h"
#include "support/scratch_folder.h"

namespace tilewright {
namespace {

using testing::ProgramRun;
using testing::run_program;
using testing::ScratchFolder;

ProgramRun mask_of_file(const std::string& path) {
  return run_program({"mask", "--program", path, "--q", "4", "--kv", "4"});
}

TEST(Hostile, ProgramsOfAnyBytesAreErrors) {
  const ScratchFolder folder;
  const std::size_t ten_megabytes = 10'000'000;
  const std::vector<std::string> programs{
      std::string(ten_megabytes, 'q'),
      std::string(ten_megabytes, '('),
      std::string(100'000, '(') + "q",
      std::string(100'000, '-') + "q",
      std::string("q >= kv\0", 8),
      std::string(1000, '\0'),
      std::string("\xff\xfe\x00q", 4),
      "q >= kv >= ",
      "no_such_name[q]",
      "import os",
      "tilewright 99\nq >= kv",
      "x = q\n",
      "mask = score > 0",
  };
  for (const std::string& program : programs) {
    const ProgramRun run = mask_of_file(folder.write("program.txt", program));
    const bool is_harmless = program == "x = q\n";
    EXPECT_EQ(run.exit_code, is_harmless ? 0 : 3)
        << program.substr(0, 60) << run.err.substr(0, 500);
    EXPECT_LT(run.err.size(), 4000U) << program.substr(0, 60);
  }
}

TEST(Hostile, ParseErrorsPointAtTheColumn) {
  const ProgramRun run = run_program({"mask", "--mask", "q >= kw", "--q", "4", "--kv", "4"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.err.find("line 1, column 6"), std::string::npos) << run.err;
}

TEST(Hostile, ErrorsComeAsJsonToo) {
  const ProgramRun run =
      run_program({"mask", "--mask", "q >= kw", "--q", "4", "--kv", "4", "--json"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(nlohmann::json::parse(run.out)["error"]["code"], "parse");
}

TEST(Hostile, TensorFilesThatAreMissingTruncatedOrFoldersAreErrors) {
  const ScratchFolder folder;
  const std::string whole =
      ScratchFolder::read(TILEWRIGHT_SOURCE_DIR "/examples/packed_sentences/sentences.safetensors");
  const std::string cut = folder.write("cut.safetensors", whole.substr(0, whole.size() / 2));
  const std::string empty = folder.write("empty.npy", "");
  EXPECT_EQ(run_program({"run", "--input", cut}).exit_code, 3);
  EXPECT_EQ(run_program({"run", "--input", empty}).exit_code, 3);
  EXPECT_EQ(run_program({"run", "--input", folder.file("missing")}).exit_code, 4);
  EXPECT_EQ(run_program({"run", "--input", folder.file("")}).exit_code, 4);
  EXPECT_EQ(run_program({"run", "--input", "/dev/null"}).exit_code, 3);
}

TEST(Hostile, PlacesThatCannotBeWrittenAreErrors) {
  const ScratchFolder folder;
  const std::string missing = folder.file("missing/out");
  const std::vector<std::string> mask{"mask", "--mask", "q >= kv", "--q", "4", "--kv", "4"};
  for (const char* option : {"--svg", "--png"}) {
    std::vector<std::string> arguments = mask;
    arguments.insert(arguments.end(), {option, missing});
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.exit_code, 4) << run.err;
    EXPECT_NE(run.err.find(missing), std::string::npos) << run.err;
  }
  EXPECT_EQ(run_program({"run", "--random", "--q", "4", "--out", missing}).exit_code, 4);
}

TEST(Hostile, ImpossibleSizesAreErrors) {
  EXPECT_EQ(
      run_program({"run", "--random", "--q", "1000000000000", "--heads", "1000000"}).exit_code, 3);
  EXPECT_EQ(run_program({"mask", "--mask", "q >= kv", "--q", "-1", "--kv", "4"}).exit_code, 2);
  EXPECT_EQ(run_program({"mask", "--mask", "q >= kv", "--q", "0", "--kv", "0"}).exit_code, 0);
  EXPECT_EQ(run_program({"explain", "--mask", "q >= kv", "--at", "0,0"}).exit_code, 3);
}

TEST(Hostile, BrokenEnvironmentIsAnError) {
  const ProgramRun run =
      run_program({"run", "--random", "--q", "4"}, {"TILEWRIGHT_THREADS=minus one"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.err.find("TILEWRIGHT_THREADS"), std::string::npos) << run.err;
}

TEST(Hostile, BrokenRecordingsAreErrors) {
  const ScratchFolder folder;
  for (const char* json : {"", "[]", "{}", "{\"record_version\": 1}", "{\"record_version\": 9}"}) {
    folder.write("call.json", json);
    EXPECT_EQ(run_program({"run", "--replay", folder.file("")}).exit_code, 3) << json;
  }
}

}  // namespace
}  // namespace tilewright
