#include <tuple>

#include "device/device_lists.h"
#include "device/gradient_fixture.h"
#include "device/small_call_options.h"
#include "engine/calls.h"
#include "support/entry.h"
#include "support/every_subscript.h"

// One small training step of each kernel of backward, for tools that make kernels a thousand times
// slower (scripts/sanitize_gpu.sh).
namespace tilewright::device_tests {
namespace {

using cases::Extents;
using cases::TrainingStep;

/// Groups, and lengths that fill no tile.
Extents small_extents(std::int64_t dim) {
  Extents extents = cases::square(1, 2, 90, dim);
  extents.kv_heads = 1;
  extents.kv_len = 150;
  return extents;
}

/// A dtype for each family, and whether sums have a fixed order.
class SmallGradients : public GpuTest,
                       public ::testing::WithParamInterface<std::tuple<DType, bool>> {
 protected:
  void expect_meaning(const Program& program, std::int64_t dim) {
    TrainingStep step =
        cases::step_of(cases::random_operands(small_extents(dim), dtype_, 41), 42, {.d_lse = true});
    EXPECT_EQ(wrong_gradients(engine_, program, step, {.deterministic = deterministic_}), "");
  }

  const DType dtype_ = std::get<0>(GetParam());
  const bool deterministic_ = std::get<1>(GetParam());
  Engine engine_{small_call_options()};
};

TEST_P(SmallGradients, Causal) {
  const Program program = trace([](Index, Index, Index q, Index kv) { return q + 20 >= kv; });
  expect_meaning(program, 64);
  expect_meaning(program, 128);
}

TEST_P(SmallGradients, WideHeads) { expect_meaning(cases::causal(), 256); }

TEST_P(SmallGradients, EverySubscriptOfCapturedTensors) {
  cases::EntryContext context(small_extents(64), 43);
  expect_meaning(cases::every_subscript(context), 64);
}

TEST_P(SmallGradients, BlockLists) {
  const Extents extents = small_extents(64);
  const RandomLists lists(extents, {.q_block = 64, .kv_block = 32});
  const ListsOnDevice on_device(lists);
  TrainingStep step = cases::step_of(cases::random_operands(extents, dtype_, 44), 45);
  const cases::Gradients gradients = cases::gradients_for(step, cases::causal());
  const DeviceStep call(cases::causal(), step, gradients);
  const CallOptions options{
      .scale = {}, .block_lists = &on_device.lists, .deterministic = deterministic_};
  engine_.attention(call.program(), call.forward_inputs(), call.forward_outputs(), options);
  engine_.attention_backward(call.program(), call.inputs(), call.outputs(), options);
  EXPECT_EQ(call.download(), "");
  const cases::GradientReference reference = cases::gradient_reference_of(
      cases::causal(), step, {.scale = {}, .block_lists = &lists.lists});
  EXPECT_EQ(cases::mismatch(gradients, reference, dtype_), "");
}

INSTANTIATE_TEST_SUITE_P(Small, SmallGradients,
                         ::testing::Combine(::testing::Values(DType::kBF16, DType::kF32),
                                            ::testing::Bool()),
                         [](const auto& param) {
                           return std::string(name(std::get<0>(param.param))) +
                                  (std::get<1>(param.param) ? "_fixed_order" : "");
                         });

}  // namespace
}  // namespace tilewright::device_tests
