#include <algorithm>
#include <cmath>

#include "device/gpu_fixture.h"
#include "tilewright/author.h"

// EngineOptions::fast_functions on a machine with a GPU: docs/numerics.md has the tolerance.
namespace tilewright::device_tests {
namespace {

using FastFunctions = GpuTest;

cases::Results capped_call(const Program& program, const cases::Operands& operands, bool fast) {
  EngineOptions options;
  options.cache_dir = "none";
  options.fast_functions = fast;
  Engine engine(options);
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(program, operands, results);
  engine.attention(call.program(), call.inputs(), call.outputs());
  EXPECT_EQ(call.download(), "");
  return results;
}

TEST_F(FastFunctions, AreWithinTheirToleranceAndOnlyTakenWhenAskedFor) {
  constexpr double kCap = 20.0;
  const Program capped = trace(
      [](Score score, Index, Index, Index, Index) { return kCap * tanh(score * (40.0 / kCap)); });
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 2, 300, 64), DType::kBF16, 9);
  const cases::Results accurate = capped_call(capped, operands, false);
  const cases::Results fast = capped_call(capped, operands, true);
  const cases::Reference reference = cases::reference_of(capped, operands.inputs());
  EXPECT_EQ(cases::mismatch(accurate, reference, DType::kBF16), "");
  double largest = 0;
  for (std::int64_t head = 0; head < 2; ++head)
    for (std::int64_t row = 0; row < 300; ++row)
      largest = std::max(largest,
                         std::abs(fast.lse->at({0, head, row}) - accurate.lse->at({0, head, row})));
  EXPECT_GT(largest, 0.0) << "the fast form is another function";
  EXPECT_LT(largest, kCap / 1024);
}

}  // namespace
}  // namespace tilewright::device_tests
