#include "device/gradient_fixture.h"
#include "support/comparison.h"
#include "support/entry.h"

// A fixed order of additions on a GPU: the same bits on every run, in every family, with captures;
// and bits that do not depend on what else is in the batch.
namespace tilewright::device_tests {
namespace {

using cases::compare_bits;
using cases::Extents;
using cases::Gradients;
using cases::TrainingStep;

Program causal() {
  return trace([](Index, Index, Index q, Index kv) { return q + 90 >= kv; });
}

Extents grouped(std::int64_t batch, std::int64_t dim) {
  Extents extents = cases::square(batch, 16, 200, dim);
  extents.kv_heads = 8;
  extents.kv_len = 2100;
  return extents;
}

/// Results and gradients as they are now.
struct Bits {
  cases::Tensor out, lse;
  Gradients gradients;
};

Bits bits_of(const TrainingStep& step, const Gradients& gradients) {
  Bits bits{.out = cases::copy_of(step.results.out),
            .lse = cases::copy_of(*step.results.lse),
            .gradients = {.d_query = cases::copy_of(gradients.d_query),
                          .d_key = cases::copy_of(gradients.d_key),
                          .d_value = cases::copy_of(gradients.d_value),
                          .captures = {}}};
  for (const auto& [name, gradient] : gradients.captures)
    bits.gradients.captures.emplace(name, cases::copy_of(gradient));
  return bits;
}

std::string difference(const Bits& a, const Bits& b) {
  return compare_bits(a.out, b.out).reason + compare_bits(a.lse, b.lse).reason +
         cases::bit_difference(a.gradients, b.gradients);
}

class GpuDeterminism : public GpuTest, public ::testing::WithParamInterface<DType> {
 protected:
  /// One run; downloads where `keep` says so.
  void run(const DeviceStep& call) {
    engine_.attention(call.program(), call.forward_inputs(), call.forward_outputs());
    const CallReport report =
        engine_.attention_backward(call.program(), call.inputs(), call.outputs());
    EXPECT_TRUE(report.deterministic) << report.kernel;
  }

  Bits alone(const Program& program, TrainingStep& step) {
    const Gradients gradients = cases::gradients_for(step, program);
    const DeviceStep call(program, step, gradients);
    run(call);
    EXPECT_EQ(call.download(), "");
    return bits_of(step, gradients);
  }

  Engine engine_{uncached_options(Order::kFixed)};
};

TEST_P(GpuDeterminism, AThousandRunsWithGroupsCapturesAndGathers) {
  const Extents extents = grouped(2, 64);
  cases::EntryContext context(extents, 61);
  const Capture table = context.normal("table", DType::kF32, {16, 200 + 2100});
  const Capture gathered = context.normal("gathered", DType::kF32, {16, 7});
  const Program program = trace(
      [=](Score s, Index, Index h, Index q, Index kv) {
        return s + table[h][q - kv + 2099] + gathered[h][floor_mod(q * 3 + kv * kv, 7)];
      },
      [](Index, Index, Index q, Index kv) { return q + 90 >= kv; });
  TrainingStep step = cases::step_of(cases::random_operands(extents, GetParam(), 62), 63);
  const Gradients gradients = cases::gradients_for(step, program);
  const DeviceStep call(program, step, gradients);
  run(call);
  ASSERT_EQ(call.download(), "");
  const Bits first = bits_of(step, gradients);
  for (int round = 1; round < 1000; ++round) {
    run(call);
    if (round % 50 != 0) continue;
    ASSERT_EQ(call.download(), "");
    ASSERT_EQ(difference(bits_of(step, gradients), first), "") << "round " << round;
    call.poison();
  }
}

TEST_P(GpuDeterminism, AnEntryOfABatchHasTheBitsThatItHasAlone) {
  constexpr std::int64_t kEntry = 1;
  const auto entry = [](const TensorView& view) {
    return cases::slice(view, 0, kEntry, kEntry + 1);
  };
  const Extents extents = grouped(3, 64);
  TrainingStep all = cases::step_of(cases::random_operands(extents, GetParam(), 64), 65);
  TrainingStep one = cases::step_of({.query = cases::copy_of(entry(all.operands.query)),
                                     .key = cases::copy_of(entry(all.operands.key)),
                                     .value = cases::copy_of(entry(all.operands.value))},
                                    66);
  one.d_out = cases::copy_of(entry(all.d_out));
  const Bits whole = alone(causal(), all);
  const Bits single = alone(causal(), one);
  EXPECT_EQ(compare_bits(single.out, entry(whole.out)).reason, "");
  EXPECT_EQ(compare_bits(single.lse, entry(whole.lse)).reason, "");
  EXPECT_EQ(compare_bits(single.gradients.d_query, entry(whole.gradients.d_query)).reason, "");
  EXPECT_EQ(compare_bits(single.gradients.d_key, entry(whole.gradients.d_key)).reason, "");
  EXPECT_EQ(compare_bits(single.gradients.d_value, entry(whole.gradients.d_value)).reason, "");
}

// The Hopper rows where there are such, and the portable ones.
INSTANTIATE_TEST_SUITE_P(Families, GpuDeterminism, ::testing::Values(DType::kBF16, DType::kF32),
                         [](const auto& param) { return std::string(name(param.param)); });

}  // namespace
}  // namespace tilewright::device_tests
