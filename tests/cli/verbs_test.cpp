#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/npy.h"
#include "io/tensor_file.h"
#include "program.h"
#include "support/backward.h"
#include "support/scratch_folder.h"
#include "tilewright/tilewright.h"

namespace tilewright {
namespace {

using nlohmann::json;
using testing::ProgramRun;
using testing::run_program;
using testing::ScratchFolder;

const std::string kSentences =
    TILEWRIGHT_SOURCE_DIR "/examples/packed_sentences/sentences.safetensors";

TEST(Verbs, EveryHelpHasAnExample) {
  for (const char* verb : {"run", "verify", "explain", "bench", "mask", "cache", "doctor"}) {
    const ProgramRun run = run_program({verb, "--help"});
    EXPECT_EQ(run.exit_code, 0) << verb;
    EXPECT_NE(run.out.find(std::string("  tilewright ") + verb), std::string::npos) << verb;
  }
  EXPECT_EQ(run_program({"--version"}).exit_code, 0);
}

TEST(Verbs, UsageMistakesEndWithTwo) {
  EXPECT_EQ(run_program({}).exit_code, 2);
  EXPECT_EQ(run_program({"no_such_verb"}).exit_code, 2);
  EXPECT_EQ(run_program({"mask", "--q", "many", "--kv", "4"}).exit_code, 2);
  EXPECT_EQ(run_program({"mask", "--mask", "q >= kv"}).exit_code, 2);
}

TEST(Verbs, MaskCountsOfAMillionTokens) {
  const ProgramRun run =
      run_program({"mask", "--mask", "q >= kv", "--q", "1048576", "--kv", "1048576", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json result = json::parse(run.out);
  constexpr std::int64_t kTiles = 8192;
  EXPECT_EQ(result["live_pairs"], 1048576LL * 1048577 / 2);
  EXPECT_EQ(result["tiles_partial"], kTiles);
  EXPECT_EQ(result["tiles_full"], kTiles * (kTiles - 1) / 2);
  EXPECT_EQ(result["tiles_empty"], kTiles * (kTiles - 1) / 2);
  for (const char* key : {"spans", "bytes", "build_ms"}) EXPECT_TRUE(result.contains(key)) << key;
}

TEST(Verbs, MaskDrawsTheSameThingEverywhere) {
  const ScratchFolder folder;
  const ProgramRun run = run_program({"mask", "--mask", "q >= kv", "--q", "4", "--kv", "4", "--svg",
                                      folder.file("m.svg"), "--png", folder.file("m.png")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("#...\n##..\n###.\n####\n"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos) << "colours in a pipe";
  EXPECT_TRUE(ScratchFolder::read(folder.file("m.svg")).starts_with("<svg"));
  EXPECT_TRUE(ScratchFolder::read(folder.file("m.png")).starts_with("\x89PNG"));
  EXPECT_NE(run_program({"mask", "--mask", "q >= kv", "--q", "4", "--kv", "4", "--color", "always"})
                .out.find('\x1b'),
            std::string::npos);
}

TEST(Verbs, CatalogueNamesTakeValues) {
  const ProgramRun named = run_program({"mask", "--mask", "window(W=2)", "--q", "4", "--kv", "4"});
  ASSERT_EQ(named.exit_code, 0) << named.err;
  EXPECT_NE(named.out.find("#...\n##..\n.##.\n..##\n"), std::string::npos) << named.out;
  const ProgramRun unknown = run_program({"mask", "--mask", "casual", "--q", "4", "--kv", "4"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_NE(unknown.err.find("causal"), std::string::npos) << unknown.err;
}

TEST(Verbs, RunVerifiesAndWritesWhatItComputed) {
  const ScratchFolder folder;
  const std::string out = folder.file("out.safetensors");
  const ProgramRun run =
      run_program({"run", "--random", "--q", "33", "--kv", "50", "--heads", "2", "--mask",
                   "q + 17 >= kv", "--verify", "--lse", "--out", out, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err << run.out;
  const json result = json::parse(run.out);
  EXPECT_TRUE(result["verify"]["passed"]);
  EXPECT_FALSE(result["kernel"].get<std::string>().empty());
  const io::TensorFile file = io::read_tensor_file(out);
  EXPECT_EQ(file.get("out").shape, (Dims{1, 2, 33, 64}));
  EXPECT_EQ(file.get("lse").shape, (Dims{1, 2, 33}));
}

TEST(Verbs, RunTakesNpyAndCaptures) {
  const ScratchFolder folder;
  std::vector<float> values(2 * 3 * 8, 0.5F);
  std::vector<std::int32_t> doc{0, 1, 1};
  for (const char* name : {"query.npy", "key.npy", "value.npy"}) {
    io::write_npy(folder.file(name), contiguous(values.data(), DType::kF32, {1, 2, 3, 8}));
  }
  io::write_npy(folder.file("doc.npy"), contiguous(doc.data(), DType::kI32, {3}));
  const ProgramRun run =
      run_program({"run", "--query", folder.file("query.npy"), "--key", folder.file("key.npy"),
                   "--value", folder.file("value.npy"), "--mask", "doc[q] == doc[kv]", "--capture",
                   "doc=" + folder.file("doc.npy"), "--verify"});
  EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
}

TEST(Verbs, PackedSentencesEqualEachSentenceAlone) {
  const ProgramRun run =
      run_program({"run", "--input", kSentences, "--dtype", "f32", "--mask", "doc[q] == doc[kv]",
                   "--verify", "--alone", "cu_seqlens", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err << run.out;
  const json result = json::parse(run.out);
  EXPECT_EQ(result["alone"]["pieces"], 12);
  EXPECT_EQ(result["alone"]["passed"], 12);
  EXPECT_LT(result["alone"]["max_difference"], 1e-5);
}

TEST(Verbs, AWrongMaskFailsTheComparisonWithEachSentenceAlone) {
  const ProgramRun run = run_program({"run", "--input", kSentences, "--dtype", "f32", "--mask",
                                      "q >= kv", "--alone", "cu_seqlens"});
  EXPECT_EQ(run.exit_code, 1) << run.out;
}

TEST(Verbs, VerifyRunsOneCase) {
  const ProgramRun listed = run_program({"verify", "--case", "no-such-case"});
  EXPECT_EQ(listed.exit_code, 3);
  const ProgramRun run = run_program({"verify", "--target", "reference", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err << run.out.substr(0, 2000);
  const json result = json::parse(run.out);
  EXPECT_GT(result["passed"], 0);
  EXPECT_EQ(result["failed"], 0);
  EXPECT_TRUE(result.contains("skipped"));
}

TEST(Verbs, ExplainShowsStagesAndOneScore) {
  for (const char* stage : {"program", "facts", "tiles", "plan", "source", "kernels", "all"}) {
    const ProgramRun run = run_program({"explain", "--mask", "q >= kv", "--stage", stage});
    EXPECT_EQ(run.exit_code, 0) << stage << run.err;
    EXPECT_GT(run.out.size(), 20U) << stage;
  }
  const ProgramRun at = run_program(
      {"explain", "--score", "score * 2 + kv", "--at", "0,0,1,3", "--score-value", "4", "--json"});
  ASSERT_EQ(at.exit_code, 0) << at.err;
  EXPECT_EQ(json::parse(at.out)["score_out"], "11");
  const ProgramRun dead = run_program({"explain", "--mask", "q >= kv", "--at", "0,0,1,3"});
  EXPECT_NE(dead.out.find("dead"), std::string::npos);
}

TEST(Verbs, BenchReportsASharedCeiling) {
  const ProgramRun run = run_program(
      {"bench", "--mask", "q >= kv", "--q", "256", "--heads", "1", "--repeat", "2", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json row = json::parse(run.out)["rows"][0];
  EXPECT_GT(row["ceiling_gflops"], 0);
  EXPECT_GT(row["share_of_ceiling"], 0);
  EXPECT_EQ(run.err, "") << "progress in a pipe";
}

TEST(Verbs, DoctorAndCacheReport) {
  const ProgramRun doctor = run_program({"doctor", "--json"});
  ASSERT_EQ(doctor.exit_code, 0) << doctor.err;
  EXPECT_GE(json::parse(doctor.out)["targets"].size(), 2U);
  EXPECT_EQ(run_program({"cache"}).exit_code, 0);
}

TEST(Verbs, ARecordedFailureFailsAgainWhenReplayed) {
  const ScratchFolder folder;
  std::vector<std::int32_t> table{0, 1};
  io::write_npy(folder.file("table.npy"), contiguous(table.data(), DType::kI32, {2}));
  const std::vector<std::string> environment{"TILEWRIGHT_RECORD=" + folder.file("records"),
                                             "TILEWRIGHT_RECORD_DATA=1"};
  const ProgramRun run = run_program({"run", "--random", "--q", "8", "--mask", "table[q] >= 0",
                                      "--capture", "table=" + folder.file("table.npy")},
                                     environment);
  ASSERT_EQ(run.exit_code, 3) << run.err;
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("records"))) {
    folders.push_back(entry.path());
  }
  ASSERT_EQ(folders.size(), 1U);
  const ProgramRun again = run_program({"run", "--replay", folders[0]});
  EXPECT_EQ(again.exit_code, 3) << again.err;
  EXPECT_NE(again.err.find("table"), std::string::npos) << again.err;
}

TEST(Verbs, ARecordedFailureOfBackwardFailsAgainWhenReplayed) {
  const ScratchFolder folder;
  EngineOptions options;
  options.cache_dir = "none";
  options.record_dir = folder.file("records");
  options.record_data = true;
  Engine engine(options);
  cases::Tensor table(DType::kF32, {5});
  table.fill(0.0);
  const Program program = [&] {
    const Capture bias("bias", table);
    return trace([&](Score s, Index, Index, Index q, Index) { return s + bias[q]; });
  }();
  cases::TrainingStep step =
      cases::step_of(cases::random_operands(cases::square(1, 1, 20, 16), DType::kF32, 1), 2);
  step.results.out.fill(0.0);
  step.results.lse->fill(0.0);
  const cases::Gradients gradients = cases::gradients_for(step, program);
  EXPECT_THROW(engine.attention_backward(program, step.inputs(), gradients.outputs()), Error);
  const std::filesystem::directory_iterator folders(folder.file("records"));
  ASSERT_NE(folders, std::filesystem::directory_iterator());
  const ProgramRun again = run_program({"run", "--replay", folders->path()});
  EXPECT_EQ(again.exit_code, 3) << again.err;
  EXPECT_NE(again.err.find("bias"), std::string::npos) << again.err;
}

TEST(Verbs, ExplainSaysHowGradientsAreComputed) {
  const ProgramRun run = run_program({"explain", "--mask", "causal", "--q", "131072", "--heads",
                                      "2", "--dim", "64", "--stage", "backward"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* word : {"backward plan: cpu/", "fixed order: always", "bytes at most"})
    EXPECT_NE(run.out.find(word), std::string::npos) << word << " in " << run.out;
  const ProgramRun derivative =
      run_program({"explain", "--score", "2 * score", "--stage", "derivative"});
  EXPECT_EQ(derivative.exit_code, 0) << derivative.err;
}

}  // namespace
}  // namespace tilewright
