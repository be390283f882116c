#include <limits>

#include "device/cuda_graph.h"
#include "device/gradient_fixture.h"
#include "support/entry.h"
#include "tilewright/error.h"

// What the problem table does not reach on a GPU: empty rows, odd tensors, subsets, fixed orders,
// streams, graphs.
namespace tilewright::device_tests {
namespace {

using cases::Extents;
using cases::Gradients;
using cases::TrainingStep;

Program causal() {
  return trace([](Index, Index, Index q, Index kv) { return q >= kv; });
}

TrainingStep small_step(const Extents& extents, std::uint64_t seed,
                        const cases::StepSpec& spec = {}) {
  return cases::step_of(cases::random_operands(extents, DType::kBF16, seed), seed + 1, spec);
}

Extents grouped(std::int64_t dim) {
  Extents extents = cases::square(2, 6, 333, dim);
  extents.kv_heads = 2;
  extents.kv_len = 421;
  return extents;
}

double largest(const TensorView& view) {
  double most = 0;
  cases::for_each_index(view.shape, [&](const Dims& at) {
    const double size = std::abs(cases::Tensor::value_at(view, at));
    most = size <= most ? most : size;
  });
  return most;
}

class GpuGradients : public GpuTest {
 protected:
  Engine engine_{uncached_options()};
};

TEST_F(GpuGradients, EmptyRowsAndKeysThatNobodySeesAreExactZeros) {
  const Program program =
      trace([](Index, Index, Index q, Index kv) { return q >= 70 && kv < 300 && q + 40 >= kv; });
  TrainingStep step = small_step(grouped(64), 3, {.d_out_dtype = DType::kF32});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t i = 0; i < 70; ++i)
    for (std::int64_t d = 0; d < 64; ++d) step.d_out.set({1, 3, i, d}, nan);
  const Gradients gradients = cases::gradients_for(step, program);
  const DeviceStep call(program, step, gradients);
  engine_.attention(call.program(), call.forward_inputs(), call.forward_outputs());
  engine_.attention_backward(call.program(), call.inputs(), call.outputs());
  ASSERT_EQ(call.download(), "");
  EXPECT_EQ(largest(cases::slice(gradients.d_query, 2, 0, 70)), 0);
  EXPECT_EQ(largest(cases::slice(gradients.d_key, 2, 300, 421)), 0);
  EXPECT_EQ(largest(cases::slice(gradients.d_value, 2, 300, 421)), 0);
  EXPECT_TRUE(std::isfinite(largest(gradients.d_value)));
  EXPECT_GT(largest(gradients.d_key), 0);
}

// In fp32 nothing else hides that dP and delta were summed in different orders.
TEST_F(GpuGradients, InF32RowsThatSeeOneKeyAloneHaveExactlyNone) {
  const Program own_key = trace([](Index, Index, Index q, Index kv) { return q == kv; });
  for (const std::int64_t dim : {40, 64, 128}) {
    TrainingStep step = cases::step_of(cases::random_operands(grouped(dim), DType::kF32, 31), 32);
    const Gradients gradients = cases::gradients_for(step, own_key);
    const DeviceStep call(own_key, step, gradients);
    engine_.attention(call.program(), call.forward_inputs(), call.forward_outputs());
    engine_.attention_backward(call.program(), call.inputs(), call.outputs());
    ASSERT_EQ(call.download(), "");
    EXPECT_EQ(largest(gradients.d_query), 0) << dim;
    EXPECT_EQ(largest(gradients.d_key), 0) << dim;
    EXPECT_GT(largest(gradients.d_value), 0) << dim;
  }
}

TEST_F(GpuGradients, OddTensorsBesideTheOperands) {
  TrainingStep step = small_step(
      grouped(128), 5,
      {.d_out_dtype = DType::kF16, .d_out_layout = cases::Layout::kInnerStrided, .d_lse = true});
  const Gradients gradients =
      cases::gradients_for(step, causal(), true, cases::Layout::kInnerNegative);
  const DeviceStep call(causal(), step, gradients);
  engine_.attention(call.program(), call.forward_inputs(), call.forward_outputs());
  engine_.attention_backward(call.program(), call.inputs(), call.outputs());
  ASSERT_EQ(call.download(), "");
  EXPECT_EQ(cases::mismatch(gradients, cases::gradient_reference_of(causal(), step), DType::kBF16),
            "");
}

TEST_F(GpuGradients, SharedKeysAndFewHeadsAreCutIntoParts) {
  Extents extents = cases::square(3, 8, 200, 64);
  extents.kv_batch = extents.kv_heads = 1;
  TrainingStep step = small_step(extents, 7);
  EXPECT_EQ(wrong_gradients(engine_, causal(), step), "");
  TrainingStep again = small_step(extents, 7);
  EXPECT_EQ(wrong_gradients(engine_, causal(), again, {.scale = -0.3, .deterministic = true}), "");
}

TEST_F(GpuGradients, ScoresThatCurveOrIgnoreTheScore) {
  const Program capped = trace([](Score s, Index, Index, Index, Index) { return 5 * tanh(s / 5); },
                               [](Index, Index, Index q, Index kv) { return q >= kv; });
  const Program constant = trace(
      [](Score, Index, Index h, Index q, Index kv) { return Score((q - kv) * 0.01 * (h + 1)); });
  for (const std::int64_t dim : {64, 128, 192}) {
    for (const Program& program : {capped, constant}) {
      TrainingStep step = small_step(grouped(dim), 9);
      EXPECT_EQ(wrong_gradients(engine_, program, step), "") << dim;
    }
  }
}

TEST_F(GpuGradients, AnySubsetIsWritten) {
  TrainingStep step = small_step(grouped(64), 11);
  for (int subset = 0; subset < 8; ++subset) {
    const Gradients gradients = cases::gradients_for(step, causal());
    const DeviceStep call(causal(), step, gradients);
    engine_.attention(call.program(), call.forward_inputs(), call.forward_outputs());
    BackwardOutputs wanted = call.outputs();
    if ((subset & 1) == 0) wanted.d_query.reset();
    if ((subset & 2) == 0) wanted.d_key.reset();
    if ((subset & 4) == 0) wanted.d_value.reset();
    engine_.attention_backward(call.program(), call.inputs(), wanted);
    ASSERT_EQ(call.download(), "");
    const cases::GradientReference reference = cases::gradient_reference_of(causal(), step);
    const auto check = [&](const auto& got, const auto& meaning, const auto& plain) {
      return cases::compare_gradient(got, meaning, plain, DType::kBF16).reason;
    };
    if (wanted.d_query) {
      EXPECT_EQ(check(gradients.d_query, reference.meaning.d_query, reference.plain.d_query), "");
    }
    if (wanted.d_key) {
      EXPECT_EQ(check(gradients.d_key, reference.meaning.d_key, reference.plain.d_key), "");
    }
    if (wanted.d_value) {
      EXPECT_EQ(check(gradients.d_value, reference.meaning.d_value, reference.plain.d_value), "");
    }
  }
}

TEST_F(GpuGradients, ZeroSizedProblemsWriteTheirGradients) {
  for (const auto& [q_len, kv_len] : {std::pair(0, 50), std::pair(50, 0)}) {
    Extents extents = cases::square(2, 2, q_len, 64);
    extents.kv_len = kv_len;
    TrainingStep step = small_step(extents, 13);
    EXPECT_EQ(wrong_gradients(engine_, Program(), step), "") << q_len << " " << kv_len;
  }
}

TEST_F(GpuGradients, AFixedOrderGivesTheSameBitsAThousandTimesUnderLoad) {
  const Stream busy, stream;
  TrainingStep step = small_step(grouped(128), 15);
  TrainingStep load = small_step(cases::square(2, 8, 900, 64), 16);
  const Gradients gradients = cases::gradients_for(step, causal());
  const Gradients ignored = cases::gradients_for(load, causal());
  const DeviceStep call(causal(), step, gradients), other(causal(), load, ignored);
  const CallOptions fixed{.stream = stream.handle(), .deterministic = true};
  engine_.attention(call.program(), call.forward_inputs(), call.forward_outputs());
  engine_.attention(other.program(), other.forward_inputs(), other.forward_outputs());
  call.synchronise();
  const auto run = [&] {
    engine_.attention_backward(other.program(), other.inputs(), other.outputs(),
                               {.stream = busy.handle()});
    return engine_.attention_backward(call.program(), call.inputs(), call.outputs(), fixed);
  };
  EXPECT_TRUE(run().deterministic);
  ASSERT_EQ(call.download(), "");
  const Gradients first{cases::copy_of(gradients.d_query),
                        cases::copy_of(gradients.d_key),
                        cases::copy_of(gradients.d_value),
                        {}};
  for (int round = 1; round < 1000; ++round) {
    run();
    if (round % 20 != 0) continue;
    ASSERT_EQ(call.download(), "");
    ASSERT_EQ(cases::bit_difference(gradients, first), "") << "round " << round;
    call.poison();
  }
}

TEST_F(GpuGradients, AGraphReplaysWithInputsAsTheyAreThen) {
  const Stream stream;
  TrainingStep step = small_step(grouped(64), 17);
  const Gradients gradients = cases::gradients_for(step, causal());
  const DeviceStep call(causal(), step, gradients);
  const CallOptions on_stream{.stream = stream.handle(), .deterministic = true};
  const auto work = [&] {
    engine_.attention(call.program(), call.forward_inputs(), call.forward_outputs(), on_stream);
    engine_.attention_backward(call.program(), call.inputs(), call.outputs(), on_stream);
  };
  work();
  stream.synchronise();
  ASSERT_EQ(call.download(), "");
  const Gradients eager{cases::copy_of(gradients.d_query),
                        cases::copy_of(gradients.d_key),
                        cases::copy_of(gradients.d_value),
                        {}};
  const Graph graph(stream, work);
  for (int replay = 0; replay < 3; ++replay) {
    call.poison();
    graph.replay(stream);
    stream.synchronise();
    ASSERT_EQ(call.download(), "");
    EXPECT_EQ(cases::bit_difference(gradients, eager), "");
  }
}

}  // namespace
}  // namespace tilewright::device_tests
