// Failing calls are kept where the user asked for it.

#include <filesystem>

#include "engine/calls.h"
#include "support/backward.h"
#include "support/scratch_folder.h"

namespace tilewright::cases {
namespace {

namespace fs = std::filesystem;

/// A live subscript past its table.
Program faulty(const Tensor& table) {
  const Capture bias("bias", table);
  return trace([&](Score s, Index, Index, Index q, Index) { return s + bias[q]; });
}

std::vector<fs::path> entries_of(const std::string& folder) {
  std::vector<fs::path> found;
  if (!fs::exists(folder)) return found;
  for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path());
  return found;
}

TEST(Record, AFailingCallIsSavedWithItsProgramAndItsError) {
  const testing::ScratchFolder scratch;
  EngineOptions options = cpu_options();
  options.record_dir = scratch.file("records");
  Engine engine(options);
  Tensor table(DType::kF32, {5});
  table.fill(0.0);
  const Operands operands = random_operands(square(1, 1, 20, 16), DType::kF32, 50);
  call(engine, causal(), operands.inputs());
  EXPECT_TRUE(entries_of(options.record_dir).empty());
  error_of([&] { call(engine, faulty(table), operands.inputs()); });
  const auto folders = entries_of(options.record_dir);
  ASSERT_EQ(folders.size(), 1U);
  const std::string text = testing::ScratchFolder::read((folders[0] / "call.json").string());
  for (const char* word : {"bias", "f32", "20", "outside captured tensor"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
}

/// The text of the only recording in a folder.
std::string only_recording(const std::string& folder) {
  const auto folders = entries_of(folder);
  EXPECT_EQ(folders.size(), 1U);
  return folders.empty() ? "" : testing::ScratchFolder::read((folders[0] / "call.json").string());
}

TEST(Record, TensorsThatDisagreeAreSaved) {
  const testing::ScratchFolder scratch;
  EngineOptions options = cpu_options();
  options.record_dir = scratch.file("records");
  options.record_data = true;
  Engine engine(options);
  const Operands operands = random_operands(square(1, 1, 20, 16), DType::kF32, 52);
  const Operands other = random_operands(square(1, 1, 21, 16), DType::kF32, 52);
  const ForwardInputs inputs{operands.query.view(), operands.key.view(), other.value.view()};
  const Results results = results_for(operands.inputs());
  error_of([&] {
    engine.attention(causal(), inputs, results.outputs(), {.scale = 0.5, .block_lists = nullptr});
  });
  const std::string text = only_recording(options.record_dir);
  for (const char* word : {"\"forward\"", "\"scale\": 0.5", "the key length", "21"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
}

TEST(Record, AFailingForwardOfAPreparedCallIsSavedOnce) {
  const testing::ScratchFolder scratch;
  EngineOptions options = cpu_options();
  options.record_dir = scratch.file("records");
  Engine engine(options);
  const Attention attention = engine.prepare(causal(), problem_of(square(1, 1, 20, 16)));
  const Operands operands = random_operands(square(1, 1, 20, 8), DType::kF32, 53);
  const Results results = results_for(operands.inputs());
  error_of([&] { attention.forward(operands.inputs(), results.outputs()); });
  EXPECT_NE(only_recording(options.record_dir).find("another class"), std::string::npos);
}

TEST(Record, AFailingPrepareIsSavedWithItsProblem) {
  const testing::ScratchFolder scratch;
  EngineOptions options = cpu_options();
  options.record_dir = scratch.file("records");
  Engine engine(options);
  error_of([&] { engine.prepare(causal(), problem_of(square(2, 3, 20, 513))); });
  const std::string text = only_recording(options.record_dir);
  for (const char* word : {"\"prepare\"", "\"head_dim\": 513", "\"query_heads\": 3"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
}

TEST(Record, FailingBackwardCallsAreSavedWithTheirGradients) {
  const testing::ScratchFolder scratch;
  EngineOptions options = cpu_options();
  options.record_dir = scratch.file("records");
  options.record_data = true;
  Engine engine(options);
  Tensor table(DType::kF32, {5});
  table.fill(0.0);
  const Program program = faulty(table);
  TrainingStep step = step_of(random_operands(square(1, 1, 20, 16), DType::kF32, 54), 55);
  step.results.out.fill(0.0);
  step.results.lse->fill(0.0);
  const Gradients gradients = gradients_for(step, program);
  error_of([&] {
    engine.attention_backward(program, step.inputs(), gradients.outputs(),
                              {.scale = 0.5, .deterministic = true});
  });
  const std::string text = only_recording(options.record_dir);
  for (const char* word : {"\"backward\"", "\"scale\": 0.5", "\"deterministic\": true", "\"d_out\"",
                           "\"d_query\"", "\"capture.bias\"", "outside captured tensor"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
}

TEST(Record, AFailingBackwardOfAPreparedCallIsSaved) {
  const testing::ScratchFolder scratch;
  EngineOptions options = cpu_options();
  options.record_dir = scratch.file("records");
  Engine engine(options);
  const Attention attention = engine.prepare(causal(), problem_of(square(1, 1, 20, 16)));
  const TrainingStep step = step_of(random_operands(square(1, 1, 20, 8), DType::kF32, 56), 57);
  const Gradients gradients = gradients_for(step, causal());
  error_of([&] { attention.backward(step.inputs(), gradients.outputs()); });
  EXPECT_NE(only_recording(options.record_dir).find("another class"), std::string::npos);
}

TEST(Record, AFolderThatCannotBeWrittenLeavesTheErrorAsItWas) {
  const testing::ScratchFolder scratch;
  EngineOptions options = cpu_options();
  // A file is no folder.
  options.record_dir = scratch.write("taken", "x");
  int warnings = 0;
  options.host.log = [&](LogLevel level, std::string_view) {
    warnings += level == LogLevel::kWarning;
  };
  Engine engine(options);
  Tensor table(DType::kF32, {5});
  table.fill(0.0);
  const Operands operands = random_operands(square(1, 1, 20, 16), DType::kF32, 51);
  EXPECT_EQ(error_of([&] { call(engine, faulty(table), operands.inputs()); }).code(),
            ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(warnings, 1);
}

}  // namespace
}  // namespace tilewright::cases
