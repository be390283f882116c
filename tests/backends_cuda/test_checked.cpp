#include <gtest/gtest.h>

#include "backends/cuda/parameter_block.h"
#include "backends_cuda/fake_calls.h"

// What is said of a fault that a kernel reports in checked mode, and captures that no kernel reads;
// a fake device reports.
namespace tilewright::cuda {
namespace {

/// The ErrorRecord of attention/forward_params.cuh.
struct Record {
  std::int32_t code, capture;
  std::int64_t index;
};

/// score + name[q + 5]: one structure whatever the name.
Program shifted(const std::string& name, const cases::Tensor& table) {
  const Capture captured(name, on_device(table));
  return trace([captured](Score s, Index, Index, Index q, Index) { return s + captured[q + 5]; });
}

TEST_F(FakeLaunch, AFaultNamesTheCapturesOfTheCallThatMetIt) {
  options_.checked = true;
  driver_.block_bytes = 0;
  Engine engine(options_);
  const Call call(cases::square(1, 2, 256, 64));
  const cases::Tensor table(DType::kF32, {256});
  for (const std::string name : {"slopes", "biases"}) {
    engine.attention(shifted(name, table), call.inputs, call.outputs);
    auto* const record = reinterpret_cast<Record*>(params_of(driver_.launches.size() - 1).error);
    ASSERT_NE(record, nullptr);
    *record = {static_cast<std::int32_t>(FaultCode::kIndexOutOfRange), 0, 260};
    const Error error = cases::error_of([&] { engine.check_device_errors(); });
    EXPECT_EQ(error.code(), ErrorCode::kIndexOutOfRange);
    EXPECT_NE(error.parts().where.find("'" + name + "'"), std::string::npos) << error.what();
    EXPECT_NE(error.parts().got.find("260"), std::string::npos) << error.what();
  }
  EXPECT_EQ(engine.stats().compiles, 1);
}

TEST_F(FakeLaunch, ACaptureThatNothingReadsHasItsPlaceInTheParameters) {
  Engine engine(options_);
  const Call call(cases::square(1, 2, 256, 64));
  const cases::Tensor table(DType::kF16, {2});
  const std::vector<Capture> unused = {Capture("unused", on_device(table))};
  const Program plain = Program::parse("score = score * 2\n", {});
  const Program more = Program::parse("capture unused: f16[1]\nscore = score * 2\n", unused);
  ASSERT_EQ(more.capture_names().size(), 1U);
  for (const Program& program : {plain, more, plain})
    engine.attention(program, call.inputs, call.outputs);
  EXPECT_EQ(engine.stats().compiles, 2);
}

}  // namespace
}  // namespace tilewright::cuda
