#include <tuple>

#include "device/cuda_graph.h"
#include "device/device_lists.h"
#include "device/gradient_fixture.h"
#include "engine/calls.h"
#include "support/entry.h"

// Gradients of calls with block lists on a GPU against the reference, which reads the same lists.
namespace tilewright::device_tests {
namespace {

cases::Extents listed_extents(std::int64_t dim) {
  cases::Extents extents = cases::square(2, 4, 330, dim);
  extents.kv_heads = 2;
  extents.kv_len = 421;
  return extents;
}

/// One training step on the GPU with the same lists forward and backward.
struct ListedStep {
  ListedStep(Engine& engine, const Program& program, cases::TrainingStep& step,
             const BlockLists& lists, bool deterministic)
      : gradients(cases::gradients_for(step, program)), call(program, step, gradients) {
    const CallOptions options{.scale = {}, .block_lists = &lists, .deterministic = deterministic};
    engine.attention(call.program(), call.forward_inputs(), call.forward_outputs(), options);
    report = engine.attention_backward(call.program(), call.inputs(), call.outputs(), options);
    outside = call.download();
  }
  cases::Gradients gradients;
  DeviceStep call;
  CallReport report;
  std::string outside;
};

class ListGradients : public GpuTest {};

/// A head dim, a program, a dtype, and whether sums have a fixed order.
class ListGradientSizes
    : public ListGradients,
      public ::testing::WithParamInterface<std::tuple<std::int64_t, int, DType, bool>> {};

TEST_P(ListGradientSizes, MeetTheTolerance) {
  Engine engine(uncached_options());
  const auto [dim, which, dtype, deterministic] = GetParam();
  const Program program = which == 0 ? Program() : cases::causal();
  std::uint32_t seed = 70;
  for (const auto& [q_block, kv_block] : {std::pair<std::int64_t, std::int64_t>{128, 128},
                                          {96, 64},
                                          {37, 21},
                                          {131, 7},
                                          {400, 500}}) {
    const cases::Extents extents = listed_extents(dim);
    const ListSpec spec{.q_block = q_block,
                        .kv_block = kv_block,
                        .batches = seed % 2 == 0 ? 1 : 2,
                        .heads = seed % 3 == 0 ? 4 : 1,
                        .full = seed % 2 == 0,
                        .seed = ++seed};
    const RandomLists lists(extents, spec);
    const ListsOnDevice on_device(lists);
    cases::TrainingStep step =
        cases::step_of(cases::random_operands(extents, dtype, seed), seed + 1, {});
    const ListedStep done(engine, program, step, on_device.lists, deterministic);
    EXPECT_TRUE(done.report.kernel.ends_with("_lists")) << done.report.kernel;
    if (dtype == DType::kBF16 && is_hopper()) {
      EXPECT_TRUE(done.report.kernel.starts_with("cuda/hopper")) << done.report.kernel;
      EXPECT_FALSE(done.report.slow_path);
    }
    EXPECT_EQ(done.report.deterministic, deterministic);
    ASSERT_EQ(done.outside, "");
    const cases::GradientReference reference =
        cases::gradient_reference_of(program, step, {.scale = {}, .block_lists = &lists.lists});
    EXPECT_EQ(cases::mismatch(done.gradients, reference, dtype), "")
        << "blocks of " << q_block << " x " << kv_block;
  }
}

INSTANTIATE_TEST_SUITE_P(ListGradients, ListGradientSizes,
                         ::testing::Combine(::testing::Values(64, 128, 192),
                                            ::testing::Values(0, 1),
                                            ::testing::Values(DType::kBF16, DType::kF32),
                                            ::testing::Bool()));

/// A tile of keys that hundreds of spans reach into, by groups of keys that the mask decides or
/// not.
TEST_F(ListGradients, ManySpansOfATileAreOneVisit) {
  Engine engine(uncached_options());
  cases::Extents extents = listed_extents(128);
  extents.kv_len = 5000;
  const RandomLists lists(extents, {.q_block = 64, .kv_block = 1, .heads = 4, .seed = 121});
  const ListsOnDevice on_device(lists);
  cases::TrainingStep step =
      cases::step_of(cases::random_operands(extents, DType::kBF16, 122), 123, {});
  for (const bool deterministic : {false, true}) {
    const ListedStep done(engine, cases::causal(), step, on_device.lists, deterministic);
    ASSERT_EQ(done.outside, "");
    EXPECT_EQ(
        cases::mismatch(done.gradients,
                        cases::gradient_reference_of(cases::causal(), step,
                                                     {.scale = {}, .block_lists = &lists.lists}),
                        DType::kBF16),
        "");
  }
}

TEST_F(ListGradients, AReplayReadsListsAnew) {
  Engine engine(uncached_options());
  const Stream stream;
  const cases::Extents extents = listed_extents(128);
  const RandomLists lists(extents, {.q_block = 64, .kv_block = 32, .heads = 4, .seed = 131});
  const ListsOnDevice on_device(lists);
  cases::TrainingStep step =
      cases::step_of(cases::random_operands(extents, DType::kBF16, 132), 133, {});
  const cases::Gradients gradients = cases::gradients_for(step, cases::causal());
  const DeviceStep call(cases::causal(), step, gradients);
  const CallOptions options{
      .scale = {}, .block_lists = &on_device.lists, .stream = stream.handle()};
  const auto train = [&] {
    engine.attention(call.program(), call.forward_inputs(), call.forward_outputs(), options);
    engine.attention_backward(call.program(), call.inputs(), call.outputs(), options);
  };
  train();
  const Graph graph(stream, train);
  for (const std::uint32_t seed : {134, 135}) {
    const RandomLists others(extents, {.q_block = 64, .kv_block = 32, .heads = 4, .seed = seed});
    lists.take(others);
    stream.synchronise();
    on_device.upload();
    call.poison();
    graph.replay(stream);
    stream.synchronise();
    ASSERT_EQ(call.download(), "");
    EXPECT_EQ(
        cases::mismatch(gradients,
                        cases::gradient_reference_of(cases::causal(), step,
                                                     {.scale = {}, .block_lists = &lists.lists}),
                        DType::kBF16),
        "")
        << seed;
  }
}

TEST_F(ListGradients, AFixedOrderGivesTheSameBits) {
  Engine engine(uncached_options());
  const cases::Extents extents = listed_extents(128);
  const RandomLists lists(extents, {.q_block = 64, .kv_block = 32, .heads = 4, .seed = 81});
  const ListsOnDevice on_device(lists);
  cases::TrainingStep step =
      cases::step_of(cases::random_operands(extents, DType::kBF16, 82), 83, {});
  const ListedStep first(engine, cases::causal(), step, on_device.lists, true);
  for (int run = 0; run < 20; ++run) {
    const ListedStep again(engine, cases::causal(), step, on_device.lists, true);
    ASSERT_EQ(cases::bit_difference(first.gradients, again.gradients), "") << run;
  }
}

/// Captures by row, by key, by q - kv, by pair and gathered.
Program capturing(cases::EntryContext& context) {
  const Capture rows = context.normal("rows", DType::kF32, {330});
  const Capture keys = context.normal("keys", DType::kBF16, {421});
  const Capture table = context.normal("table", DType::kF32, {4, 330 + 421});
  const Capture gathered = context.normal("gathered", DType::kF32, {4, 7});
  return trace(
      [=](Score s, Index, Index h, Index q, Index kv) {
        return s * (1 + rows[q] * 0.2) + keys[kv] + table[h][q - kv + 420] +
               gathered[h][floor_mod(q * 3 + kv * kv, 7)];
      },
      [](Index, Index, Index q, Index kv) { return q + 90 >= kv; });
}

/// A dtype, and whether sums have a fixed order.
class ListCaptures : public ListGradients,
                     public ::testing::WithParamInterface<std::tuple<DType, bool>> {};

TEST_P(ListCaptures, HaveTheirGradients) {
  Engine engine(uncached_options());
  const auto [dtype, deterministic] = GetParam();
  std::uint32_t seed = 100;
  for (const auto& [q_block, kv_block] : {std::pair<std::int64_t, std::int64_t>{128, 128},
                                          {96, 64},
                                          {37, 21},
                                          {131, 7},
                                          {400, 500}}) {
    const cases::Extents extents = listed_extents(64);
    cases::EntryContext context(extents, seed);
    const Program program = capturing(context);
    const RandomLists lists(extents, {.q_block = q_block,
                                      .kv_block = kv_block,
                                      .heads = seed % 2 == 0 ? 4 : 1,
                                      .full = seed % 2 == 0,
                                      .seed = ++seed});
    const ListsOnDevice on_device(lists);
    cases::TrainingStep step =
        cases::step_of(cases::random_operands(extents, dtype, seed), seed + 1, {.d_lse = true});
    const ListedStep done(engine, program, step, on_device.lists, deterministic);
    ASSERT_EQ(done.outside, "");
    EXPECT_EQ(cases::mismatch(done.gradients,
                              cases::gradient_reference_of(
                                  program, step, {.scale = {}, .block_lists = &lists.lists}),
                              dtype),
              "")
        << "blocks of " << q_block << " x " << kv_block;
  }
}

INSTANTIATE_TEST_SUITE_P(ListCaptures, ListCaptures,
                         ::testing::Combine(::testing::Values(DType::kBF16, DType::kF32),
                                            ::testing::Bool()));

TEST_F(ListGradients, AThousandRunsInAFixedOrderWithCaptures) {
  Engine engine(uncached_options());
  const cases::Extents extents = listed_extents(64);
  cases::EntryContext context(extents, 110);
  const Program program = capturing(context);
  const RandomLists lists(extents, {.q_block = 64, .kv_block = 32, .heads = 4, .seed = 111});
  const ListsOnDevice on_device(lists);
  cases::TrainingStep step =
      cases::step_of(cases::random_operands(extents, DType::kBF16, 112), 113, {.d_lse = true});
  const ListedStep first(engine, program, step, on_device.lists, true);
  const ListedStep again(engine, program, step, on_device.lists, true);
  const CallOptions options{.block_lists = &on_device.lists, .deterministic = true};
  for (int round = 0; round < 1000; ++round) {
    engine.attention_backward(again.call.program(), again.call.inputs(), again.call.outputs(),
                              options);
    if (round % 50 != 49) continue;
    ASSERT_EQ(again.call.download(), "");
    ASSERT_EQ(cases::bit_difference(first.gradients, again.gradients), "") << round;
    again.call.poison();
  }
}

TEST_F(ListGradients, ListsOnTheHostServeToo) {
  Engine engine(uncached_options());
  const cases::Extents extents = listed_extents(64);
  const RandomLists lists(extents, {.seed = 91});
  cases::TrainingStep step =
      cases::step_of(cases::random_operands(extents, DType::kBF16, 92), 93, {});
  const ListedStep done(engine, cases::causal(), step, lists.lists, false);
  ASSERT_EQ(done.outside, "");
  EXPECT_EQ(cases::mismatch(done.gradients,
                            cases::gradient_reference_of(
                                cases::causal(), step, {.scale = {}, .block_lists = &lists.lists}),
                            DType::kBF16),
            "");
}

}  // namespace
}  // namespace tilewright::device_tests
