#include "device/far_tensor.h"
#include "device/gradient_fixture.h"
#include "engine/calls.h"
#include "support/comparison.h"

// Addresses past 2^31 elements, forward and with gradients: rows far apart, and the shapes of the
// field reports C102 and C112.
namespace tilewright::device_tests {
namespace {

using cases::compare_bits;
using cases::Extents;
using cases::Gradients;
using cases::TrainingStep;

/// Every tensor of a training step on the GPU.
struct FarStep {
  FarTensor query, key, value, out, lse, d_out, d_query, d_key, d_value;

  bool allocated() const {
    for (const FarTensor* tensor :
         {&query, &key, &value, &out, &lse, &d_out, &d_query, &d_key, &d_value})
      if (!tensor->allocated()) return false;
    return true;
  }
  void run(Engine& engine, const Program& program) const {
    engine.attention(program, {query.view(), key.view(), value.view()},
                     {.out = out.view(), .lse = lse.view()});
    engine.attention_backward(
        program, {query.view(), key.view(), value.view(), out.view(), lse.view(), d_out.view(), {}},
        {.d_query = d_query.view(),
         .d_key = d_key.view(),
         .d_value = d_value.view(),
         .captures = {}});
    const cuda::Gpu& gpu = *machine().gpus.front();
    const cuda::ContextScope scope(gpu.driver(), gpu.context());
    gpu.driver().check(gpu.driver().context_synchronize(), "cuCtxSynchronize", "a far step");
  }
  void write(std::int64_t batch, const TrainingStep& step) const {
    query.write(batch, step.operands.query);
    key.write(batch, step.operands.key);
    value.write(batch, step.operands.value);
    d_out.write(batch, step.d_out);
  }
  void read(std::int64_t batch, const TrainingStep& step, const Gradients& gradients) const {
    out.read(batch, step.results.out);
    lse.read(batch, *step.results.lse);
    d_query.read(batch, gradients.d_query);
    d_key.read(batch, gradients.d_key);
    d_value.read(batch, gradients.d_value);
  }
};

class FarAddresses : public GpuTest {
 protected:
  /// Some entries of a batch beside calls that hold them alone, bit for bit. All others are NaN.
  void expect_entries(const FarStep& far, const Extents& one,
                      std::initializer_list<std::int64_t> batches) {
    if (!far.allocated()) GTEST_SKIP() << "the GPU has no memory for this";
    const auto entry = [&](std::int64_t batch) {
      const auto seed = static_cast<std::uint64_t>(batch) + 1;
      return cases::step_of(cases::random_operands(one, DType::kBF16, seed), seed);
    };
    for (const std::int64_t batch : batches) far.write(batch, entry(batch));
    far.run(engine_, cases::causal());
    for (const std::int64_t batch : batches) {
      const TrainingStep got = entry(batch), alone = entry(batch);
      const Gradients got_gradients = cases::gradients_for(got, cases::causal());
      const Gradients gradients = cases::gradients_for(alone, cases::causal());
      far.read(batch, got, got_gradients);
      const DeviceStep call(cases::causal(), alone, gradients);
      engine_.attention(call.program(), call.forward_inputs(), call.forward_outputs());
      engine_.attention_backward(call.program(), call.inputs(), call.outputs());
      ASSERT_EQ(call.download(), "");
      EXPECT_EQ(compare_bits(got.results.out, alone.results.out).reason, "") << batch;
      EXPECT_EQ(compare_bits(*got.results.lse, *alone.results.lse).reason, "") << batch;
      EXPECT_EQ(cases::bit_difference(got_gradients, gradients), "") << batch;
    }
  }

  Engine engine_{uncached_options(Order::kFixed)};
};

class FarRows : public FarAddresses, public ::testing::WithParamInterface<DType> {};

TEST_P(FarRows, MeetTheTolerance) {
  const DType dtype = GetParam();
  TrainingStep step =
      cases::step_of(cases::random_operands(cases::square(1, 1, 300, 64), dtype, 11), 12);
  const auto far = [dtype](const cases::Tensor& near) {
    return FarTensor(dtype, near.shape(), far_row_strides(near.shape()));
  };
  const cases::Tensor& rows = step.operands.query;
  const FarStep placed{.query = far(rows),
                       .key = far(rows),
                       .value = far(rows),
                       .out = far(rows),
                       .lse = FarTensor(DType::kF32, {1, 1, 300}),
                       .d_out = far(rows),
                       .d_query = far(rows),
                       .d_key = far(rows),
                       .d_value = far(rows)};
  if (!placed.allocated()) GTEST_SKIP() << "the GPU has no memory for this";
  placed.write(0, step);
  placed.run(engine_, cases::causal());
  const Gradients gradients = cases::gradients_for(step, cases::causal());
  placed.read(0, step, gradients);
  EXPECT_EQ(cases::mismatch(step.results, cases::causal(), step.operands.inputs()), "");
  EXPECT_EQ(cases::mismatch(gradients, cases::gradient_reference_of(cases::causal(), step), dtype),
            "");
}

INSTANTIATE_TEST_SUITE_P(Families, FarRows, ::testing::Values(DType::kBF16, DType::kF32),
                         [](const auto& param) { return std::string(name(param.param)); });

/// Keys stored [KV, B, D], so that a step from key to key is a whole batch.
TEST_F(FarAddresses, C102KeyStridesWithGradients) {
  constexpr std::int64_t kBatch = 700, kKeys = 24000, kDim = 128;
  const Extents one = {.q_len = 256, .kv_len = kKeys, .head_dim = kDim, .value_dim = kDim};
  const Dims keys = {kBatch, 1, kKeys, kDim}, rows = {kBatch, 1, 256, kDim};
  const Dims strides = {kDim, kDim, kBatch * kDim, 1};
  const DType dtype = DType::kBF16;
  const FarStep step{.query = FarTensor(dtype, rows),
                     .key = FarTensor(dtype, keys, strides),
                     .value = FarTensor(dtype, keys, strides),
                     .out = FarTensor(dtype, rows),
                     .lse = FarTensor(DType::kF32, {kBatch, 1, 256}),
                     .d_out = FarTensor(dtype, rows),
                     .d_query = FarTensor(dtype, rows),
                     .d_key = FarTensor(dtype, keys, strides),
                     .d_value = FarTensor(dtype, keys, strides)};
  expect_entries(step, one, {0, 350, kBatch - 1});
}

/// More than 2^31 elements of every tensor, and of what gradients of queries are added up in.
TEST_F(FarAddresses, C112ManyBatchesWithGradients) {
  constexpr std::int64_t kBatch = 12000;
  const Extents one = cases::square(1, 8, 512, 64);
  const Dims shape = {kBatch, 8, 512, 64};
  const auto tensor = [&shape] { return FarTensor(DType::kBF16, shape); };
  const FarStep step{.query = tensor(),
                     .key = tensor(),
                     .value = tensor(),
                     .out = tensor(),
                     .lse = FarTensor(DType::kF32, {kBatch, 8, 512}),
                     .d_out = tensor(),
                     .d_query = tensor(),
                     .d_key = tensor(),
                     .d_value = tensor()};
  expect_entries(step, one, {0, 8191, 8192, kBatch - 1});
}

}  // namespace
}  // namespace tilewright::device_tests
