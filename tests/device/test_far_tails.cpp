#include "device/gpu_fixture.h"
#include "engine/calls.h"

// Many keys whose scores lie far below a row's largest and that carry half of its weight together:
// what a dtype of p with few exponents loses first.
namespace tilewright::device_tests {
namespace {

class FarTails : public GpuTest, public testing::WithParamInterface<DType> {};

/// One key at 0, all others at -11: 2^-15.9 of it each, 65,536 of them.
Program one_key_and_a_tail() {
  return trace([](Score, Index, Index, Index, Index kv) {
    return select(kv == 0, Score(0.0), Score(-11.0));
  });
}

TEST_P(FarTails, KeepTheirWeight) {
  EngineOptions options;
  options.cache_dir = "none";
  Engine engine(options);
  cases::Extents extents = cases::square(1, 1, 64, 64);
  extents.kv_len = 65537;
  cases::Operands operands = cases::random_operands(extents, GetParam(), 17);
  // Values of one sign, so that a lost tail shows in the output and not only in the sum.
  operands.value.fill([](const Dims& at) { return 1.0 + static_cast<double>(at[2] % 7); });
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(one_key_and_a_tail(), operands, results);
  engine.attention(call.program(), call.inputs(), call.outputs());
  EXPECT_EQ(call.download(), "");
  EXPECT_EQ(cases::mismatch(results, one_key_and_a_tail(), operands.inputs()), "");
}

INSTANTIATE_TEST_SUITE_P(Halves, FarTails, testing::Values(DType::kF16, DType::kBF16));

}  // namespace
}  // namespace tilewright::device_tests
