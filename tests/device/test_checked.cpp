#include "device/gpu_fixture.h"
#include "engine/calls.h"

// Live subscripts outside a captured tensor: 0 is read, and checked mode tells (semantics R8).
namespace tilewright::device_tests {
namespace {

constexpr std::int64_t kLength = 200;

/// score + bias[q + 5]: the last five rows leave the table.
Program shifted_bias(const Capture& bias) {
  return trace([bias](Score s, Index, Index, Index q, Index) { return s + bias[q + 5]; });
}

class Checked : public GpuTest {
 protected:
  /// One call; the engine's own errors pass through.
  void run(Engine& engine) {
    cases::Tensor bias(DType::kF32, {kLength});
    bias.fill([](const Dims& at) { return 0.01 * static_cast<double>(at[0]); });
    const cases::Operands operands =
        cases::random_operands(cases::square(1, 2, kLength, 64), DType::kBF16, 12);
    const cases::Results results = cases::results_for(operands.inputs());
    const DeviceCall call(shifted_bias(Capture("bias", bias)), operands, results);
    engine.attention(call.program(), call.inputs(), call.outputs());
    ASSERT_EQ(call.download(), "");

    // What the kernel went on with: the table followed by zeros.
    cases::Tensor longer(DType::kF32, {kLength + 5});
    longer.fill(
        [&](const Dims& at) { return at[0] < kLength ? 0.01 * static_cast<double>(at[0]) : 0; });
    EXPECT_EQ(cases::mismatch(results, shifted_bias(Capture("bias", longer)), operands.inputs()),
              "");
  }

  static EngineOptions options(bool checked) {
    EngineOptions options;
    options.cache_dir = "none";
    options.checked = checked;
    return options;
  }
};

TEST_F(Checked, ABadSubscriptReadsZeroAndIsReportedOnce) {
  Engine engine(options(true));
  run(engine);
  const Error error = cases::error_of([&] { engine.check_device_errors(); });
  EXPECT_EQ(error.code(), ErrorCode::kIndexOutOfRange);
  EXPECT_NE(error.parts().where.find("'bias'"), std::string::npos) << error.what();
  EXPECT_NE(error.parts().got.find("Q 200"), std::string::npos) << error.what();
  engine.check_device_errors();
}

TEST_F(Checked, WithoutCheckedModeNothingIsSaid) {
  Engine engine(options(false));
  run(engine);
  engine.check_device_errors();
}

}  // namespace
}  // namespace tilewright::device_tests
