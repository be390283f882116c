#include <algorithm>
#include <cmath>
#include <tuple>

#include "device/cuda_graph.h"
#include "device/device_lists.h"
#include "device/gradient_fixture.h"
#include "engine/calls.h"
#include "support/entry.h"

// Gradients of calls whose key lengths only the device knows, against the reference with the
// lengths in its mask. What lies behind a length is NaN on the device and gets gradients of exactly
// 0.
namespace tilewright::device_tests {
namespace {

constexpr std::int64_t kKeys = 900;

cases::Extents extents_of(std::int64_t batches, std::int64_t dim) {
  cases::Extents extents = cases::square(batches, 4, 230, dim);
  extents.kv_heads = 2;
  extents.kv_len = kKeys;
  return extents;
}

void set_lengths(const cases::Tensor& lengths, const std::vector<int>& values) {
  cases::Tensor(lengths).fill(
      [&](const Dims& at) { return values[static_cast<std::size_t>(at[0])]; });
}

/// How many keys some batch of queries has of a key batch.
std::int64_t longest(const cases::Tensor& lengths, std::int64_t kv_batches, std::int64_t b) {
  if (kv_batches != 1) return static_cast<std::int64_t>(lengths.at({b}));
  double most = 0;
  for (std::int64_t n = 0; n < lengths.shape()[0]; ++n) most = std::max(most, lengths.at({n}));
  return static_cast<std::int64_t>(most);
}

void spoil_dead_keys(const cases::Operands& operands, const cases::Tensor& lengths) {
  for (cases::Tensor tensor : {operands.key, operands.value})
    cases::for_each_index(tensor.shape(), [&](const Dims& at) {
      if (at[2] >= longest(lengths, tensor.shape()[0], at[0])) tensor.set(at, std::nan(""));
    });
}

/// Where a key behind its length has a gradient that is not 0.
std::string first_nonzero(const cases::Tensor& gradient, const cases::Tensor& lengths) {
  std::string found;
  cases::for_each_index(gradient.shape(), [&](const Dims& at) {
    const bool is_dead = at[2] >= longest(lengths, gradient.shape()[0], at[0]);
    if (found.empty() && is_dead && gradient.at(at) != 0) found = to_string(at);
  });
  return found;
}

/// The mask or score_mod of a test alone, and among the keys that a batch has.
struct Masks {
  Program alone;
  Program within;
};

Masks masks_of(int which, const Capture& keys, cases::EntryContext& context) {
  if (which == 0)
    return {.alone = {}, .within = trace([keys](Index b, Index, Index, Index kv) {
                           return kv < Index(keys[b]);
                         })};
  if (which == 1)
    return {.alone = trace([](Index, Index, Index q, Index kv) { return q + 500 >= kv; }),
            .within = trace([keys](Index b, Index, Index q, Index kv) {
              return kv < Index(keys[b]) && q + 500 >= kv;
            })};
  const Capture table = context.normal("table", DType::kF32, {4, 230 + kKeys});
  const Capture column = context.normal("column", DType::kBF16, {kKeys});
  const auto score = [=](Score s, Index, Index h, Index q, Index kv) {
    return s + table[h][q - kv + kKeys] + column[kv];
  };
  return {.alone = trace(score, [](Index, Index, Index q, Index kv) { return q + 500 >= kv; }),
          .within = trace(score, [keys](Index b, Index, Index q, Index kv) {
            return kv < Index(keys[b]) && q + 500 >= kv;
          })};
}

/// What a training step brings to the GPU, and what the reference gets beside the mask.
struct Brought {
  const cases::Tensor& lengths;
  CallOptions options = {};
  CallOptions meant = {};
};

/// A training step with lengths forward and backward; what is wrong, or nothing.
std::string wrong_gradients(Engine& engine, const Masks& masks, cases::TrainingStep& step,
                            const Brought& brought) {
  const cases::GradientReference reference =
      cases::gradient_reference_of(masks.within, step, brought.meant);
  spoil_dead_keys(step.operands, brought.lengths);
  const DeviceCopy on_device(brought.lengths);
  CallOptions options = brought.options;
  options.kv_lengths = &on_device.view();
  const cases::Gradients gradients = cases::gradients_for(step, masks.alone);
  const DeviceStep call(masks.alone, step, gradients);
  engine.attention(call.program(), call.forward_inputs(), call.forward_outputs(), options);
  engine.attention_backward(call.program(), call.inputs(), call.outputs(), options);
  if (std::string outside = call.download(); !outside.empty()) return outside;
  for (const cases::Tensor* gradient : {&gradients.d_key, &gradients.d_value})
    if (std::string at = first_nonzero(*gradient, brought.lengths); !at.empty())
      return "a dead key has a gradient at " + at;
  return cases::mismatch(gradients, reference, step.operands.query.view().dtype);
}

class KeyLengthGradients : public GpuTest {};

/// A head dim, a program, a dtype, and whether sums have a fixed order.
class KeyLengthGradientSizes
    : public KeyLengthGradients,
      public ::testing::WithParamInterface<std::tuple<std::int64_t, int, DType, bool>> {};

TEST_P(KeyLengthGradientSizes, MeetTheTolerance) {
  Engine engine(uncached_options());
  const auto [dim, which, dtype, deterministic] = GetParam();
  const cases::Tensor lengths(DType::kI32, {5});
  set_lengths(lengths, {0, 1, 517, kKeys, 128});
  const Capture keys("keys", lengths);
  cases::EntryContext context(extents_of(5, dim), 200);
  const Masks masks = masks_of(which, keys, context);
  cases::TrainingStep step = cases::step_of(
      cases::random_operands(extents_of(5, dim), dtype, static_cast<std::uint64_t>(201 + dim)), 202,
      {.d_lse = true});
  EXPECT_EQ(wrong_gradients(engine, masks, step,
                            {.lengths = lengths, .options = {.deterministic = deterministic}}),
            "");
}

INSTANTIATE_TEST_SUITE_P(KeyLengthGradients, KeyLengthGradientSizes,
                         ::testing::Combine(::testing::Values(64, 128, 192),
                                            ::testing::Values(0, 1, 2),
                                            ::testing::Values(DType::kBF16, DType::kF32),
                                            ::testing::Bool()));

TEST_F(KeyLengthGradients, OfKeysThatBatchesShare) {
  Engine engine(uncached_options());
  const cases::Tensor lengths(DType::kI32, {3});
  set_lengths(lengths, {0, 130, 517});
  const Capture keys("keys", lengths);
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    cases::Extents extents = extents_of(3, 128);
    extents.kv_batch = 1;
    cases::EntryContext context(extents, 210);
    cases::TrainingStep step =
        cases::step_of(cases::random_operands(extents, dtype, 211), 212, {.d_lse = true});
    EXPECT_EQ(wrong_gradients(engine, masks_of(1, keys, context), step, {.lengths = lengths}), "");
  }
}

TEST_F(KeyLengthGradients, CutTheSpansOfLists) {
  Engine engine(uncached_options());
  const cases::Tensor lengths(DType::kI32, {2});
  set_lengths(lengths, {777, 90});
  const Capture keys("keys", lengths);
  for (const DType dtype : {DType::kBF16, DType::kF32})
    for (const bool deterministic : {false, true}) {
      const cases::Extents extents = extents_of(2, 128);
      cases::EntryContext context(extents, 220);
      const RandomLists lists(
          extents, {.q_block = 37, .kv_block = 50, .heads = 4, .full = false, .seed = 221});
      const ListsOnDevice on_device(lists);
      cases::TrainingStep step =
          cases::step_of(cases::random_operands(extents, dtype, 222), 223, {.d_lse = true});
      EXPECT_EQ(wrong_gradients(
                    engine, masks_of(1, keys, context), step,
                    {.lengths = lengths,
                     .options = {.block_lists = &on_device.lists, .deterministic = deterministic},
                     .meant = {.scale = {}, .block_lists = &lists.lists}}),
                "");
    }
}

TEST_F(KeyLengthGradients, HopperRowsServeThem) {
  if (!is_hopper()) GTEST_SKIP() << "no Hopper device";
  EngineOptions options = uncached_options();
  options.require_fast = true;
  Engine engine(options);
  const cases::Tensor lengths(DType::kI32, {5});
  set_lengths(lengths, {0, 1, 517, kKeys, 128});
  const DeviceCopy on_device(lengths);
  cases::TrainingStep step =
      cases::step_of(cases::random_operands(extents_of(5, 128), DType::kBF16, 230), 231, {});
  const cases::Gradients gradients = cases::gradients_for(step, Program());
  const DeviceStep call(Program(), step, gradients);
  const CallOptions lengths_only{.scale = {}, .kv_lengths = &on_device.view()};
  engine.attention(call.program(), call.forward_inputs(), call.forward_outputs(), lengths_only);
  const CallReport report =
      engine.attention_backward(call.program(), call.inputs(), call.outputs(), lengths_only);
  EXPECT_TRUE(report.kernel.starts_with("cuda/hopper")) << report.kernel;
  EXPECT_TRUE(report.kernel.ends_with("_lengths")) << report.kernel;
}

TEST_F(KeyLengthGradients, AReplayReadsThemAnew) {
  Engine engine(uncached_options());
  const Stream stream;
  const cases::Tensor lengths(DType::kI32, {3});
  set_lengths(lengths, {900, 900, 900});
  const Capture keys("keys", lengths);
  const DeviceCopy on_device(lengths);
  cases::EntryContext context(extents_of(3, 128), 240);
  const Masks masks = masks_of(1, keys, context);
  cases::TrainingStep step =
      cases::step_of(cases::random_operands(extents_of(3, 128), DType::kBF16, 241), 242, {});
  const cases::Gradients gradients = cases::gradients_for(step, masks.alone);
  const DeviceStep call(masks.alone, step, gradients);
  const CallOptions options{
      .scale = {}, .kv_lengths = &on_device.view(), .stream = stream.handle()};
  const auto train = [&] {
    engine.attention(call.program(), call.forward_inputs(), call.forward_outputs(), options);
    engine.attention_backward(call.program(), call.inputs(), call.outputs(), options);
  };
  train();
  const Graph graph(stream, train);
  for (const std::vector<int>& values : {std::vector{1, 700, 899}, {500, 0, 256}}) {
    set_lengths(lengths, values);
    stream.synchronise();
    on_device.upload();
    call.poison();
    graph.replay(stream);
    stream.synchronise();
    ASSERT_EQ(call.download(), "");
    EXPECT_EQ(
        cases::mismatch(gradients, cases::gradient_reference_of(masks.within, step), DType::kBF16),
        "");
    EXPECT_EQ(first_nonzero(gradients.d_key, lengths), "");
  }
}

}  // namespace
}  // namespace tilewright::device_tests
