#include <cmath>

#include "device/gradient_fixture.h"
#include "support/entry.h"
#include "support/every_subscript.h"

// Gradients of captured tensors on a GPU, by what their subscripts depend on.
namespace tilewright::device_tests {
namespace {

using cases::EntryContext;
using cases::Extents;
using cases::Gradients;
using cases::Layout;
using cases::TrainingStep;

Extents grouped(std::int64_t dim) {
  Extents extents = cases::square(2, 4, 333, dim);
  extents.kv_heads = 2;
  extents.kv_len = 421;
  return extents;
}

TrainingStep step_for(const Extents& extents, std::uint64_t seed) {
  return cases::step_of(cases::random_operands(extents, DType::kBF16, seed), seed + 1,
                        {.d_lse = true});
}

auto causal() {
  return [](Index, Index, Index q, Index kv) { return q + 90 >= kv; };
}

class GpuCaptures : public GpuTest {
 protected:
  GpuCaptures()
      : engine_([] {
          EngineOptions options;
          options.cache_dir = "none";
          return options;
        }()) {}

  void expect_meaning(const Program& program, const Extents& extents, std::uint64_t seed) {
    for (const bool deterministic : {false, true}) {
      TrainingStep step = step_for(extents, seed);
      EXPECT_EQ(wrong_gradients(engine_, program, step, {.deterministic = deterministic}), "")
          << (deterministic ? "fixed order" : "free order");
    }
  }

  /// Two runs in the free order give the same bits.
  void expect_same_bits(const Program& program, const Extents& extents) {
    TrainingStep step = step_for(extents, 21);
    const Gradients one = cases::gradients_for(step, program);
    const Gradients two = cases::gradients_for(step, program);
    for (const Gradients* gradients : {&one, &two}) {
      const DeviceStep call(program, step, *gradients);
      engine_.attention(call.program(), call.forward_inputs(), call.forward_outputs());
      engine_.attention_backward(call.program(), call.inputs(), call.outputs());
      ASSERT_EQ(call.download(), "");
    }
    for (const auto& [name, gradient] : one.captures)
      EXPECT_EQ(cases::compare_bits(gradient, two.captures.at(name)).reason, "") << name;
  }

  Engine engine_;
};

TEST_F(GpuCaptures, RelativeTable) {
  const Extents extents = grouped(128);
  EntryContext context(extents, 1);
  const Capture table = context.normal("table", DType::kF32, {4, 333 + 421});
  const Program program =
      trace([=](Score s, Index, Index h, Index q, Index kv) { return s + table[h][q - kv + 420]; },
            causal());
  expect_meaning(program, extents, 2);
  expect_same_bits(program, extents);
}

TEST_F(GpuCaptures, SlopesAndScales) {
  const Extents extents = grouped(64);
  EntryContext context(extents, 3);
  const Capture slope = context.normal("slope", DType::kF32, {4});
  const Capture scale = context.normal("scale", DType::kBF16, {});
  const Program program =
      trace([=](Score s, Index, Index h, Index q,
                Index kv) { return s * Value(scale) + slope[h] * (kv - q) * 0.01; },
            causal());
  expect_meaning(program, extents, 4);
  expect_same_bits(program, extents);
}

TEST_F(GpuCaptures, BiasesByRowKeyAndPair) {
  const Extents extents = grouped(64);
  EntryContext context(extents, 5);
  const Capture by_key = context.normal("by_key", DType::kF16, {2, 421});
  const Capture by_row = context.normal("by_row", DType::kF32, {4, 333});
  const Capture dense = context.normal("dense", DType::kF32, {333, 421});
  const Program program =
      trace([=](Score s, Index b, Index h, Index q,
                Index kv) { return s * (1 + by_row[h][q] * 0.2) + by_key[b][kv] + dense[q][kv]; },
            causal());
  expect_meaning(program, extents, 6);
  expect_same_bits(program, extents);
}

TEST_F(GpuCaptures, BucketsAndRepeatedIndices) {
  const Extents extents = grouped(128);
  EntryContext context(extents, 7);
  const Capture buckets = context.normal("buckets", DType::kF32, {4, 9});
  const Capture rows = context.normal("rows", DType::kF32, {5});
  const Capture lookup = context.capture("lookup", DType::kI32, {421}, [&](const Dims&) {
    return static_cast<double>(context.random.between(-6, 5));
  });
  const Capture keys = context.normal("keys", DType::kF32, {6});
  const Program program = trace(
      [=](Score s, Index, Index h, Index q, Index kv) {
        return s * (1 + rows[floor_mod(q, 5)] * 0.1) + buckets[h][clamp(q - kv + 4, 0, 8)] +
               keys[lookup[kv]];
      },
      causal());
  expect_meaning(program, extents, 8);
  expect_same_bits(program, extents);
}

TEST_F(GpuCaptures, Gathers) {
  const Extents extents = grouped(64);
  EntryContext context(extents, 9);
  const Capture table = context.normal("table", DType::kF32, {4, 7, 3});
  const Program program = trace([=](Score s, Index, Index h, Index q, Index kv) {
    return s + table[h][floor_mod(q * 3 + kv, 7)][floor_mod(kv * kv + q, 3)];
  });
  expect_meaning(program, extents, 10);
}

TEST_F(GpuCaptures, TensorsThatNothingReadsGetZeros) {
  const Extents extents = grouped(64);
  EntryContext context(extents, 11);
  const Capture unread = context.normal("unread", DType::kBF16, {3, 2});
  const Program program = trace([=](Score s, Index, Index, Index q, Index) {
    return s + select(q < 0, Value(unread[0][1]), Value(0.0));
  });
  TrainingStep step = step_for(extents, 12);
  const Gradients gradients = cases::gradients_for(step, program);
  const DeviceStep call(program, step, gradients);
  engine_.attention(call.program(), call.forward_inputs(), call.forward_outputs());
  engine_.attention_backward(call.program(), call.inputs(), call.outputs());
  ASSERT_EQ(call.download(), "");
  cases::for_each_index(
      {3, 2}, [&](const Dims& at) { EXPECT_EQ(gradients.captures.at("unread").at(at), 0); });
}

/// Operands of a call, beside what the program of a test reads.
struct CapturedOperands {
  const char* name;
  std::int64_t head_dim, value_dim;
  DType dtype;
  Layout layout;
};

// What the copy engine takes, head dims that fill no 16 bytes, wide ones, fp32, and every way of
// lying in memory.
constexpr CapturedOperands kCapturedOperands[] = {
    {"bf16_e192", 192, 192, DType::kBF16, Layout::kContiguous},
    {"f16_e31v17", 31, 17, DType::kF16, Layout::kContiguous},
    {"bf16_e512v64", 512, 64, DType::kBF16, Layout::kContiguous},
    {"f16_e40v384", 40, 384, DType::kF16, Layout::kTransposed},
    {"bf16_sliced", 64, 64, DType::kBF16, Layout::kSliced},
    {"f16_strided", 72, 64, DType::kF16, Layout::kInnerStrided},
    {"bf16_expanded", 64, 128, DType::kBF16, Layout::kExpanded},
    {"f32_e64", 64, 64, DType::kF32, Layout::kContiguous},
    {"f32_e30v100", 30, 100, DType::kF32, Layout::kContiguous},
    {"f32_e256v192", 256, 192, DType::kF32, Layout::kContiguous},
    {"f32_negative", 64, 96, DType::kF32, Layout::kInnerNegative},
    {"f32_sliced", 128, 128, DType::kF32, Layout::kSliced}};

class GpuCapturesOf : public GpuCaptures, public ::testing::WithParamInterface<CapturedOperands> {};

TEST_P(GpuCapturesOf, EverySubscriptInOneProgram) {
  const CapturedOperands& given = GetParam();
  Extents extents = grouped(given.head_dim);
  extents.value_dim = given.value_dim;
  EntryContext context(extents, 13);
  const Program program = cases::every_subscript(context);
  TrainingStep step = cases::step_of(cases::random_operands(extents, given.dtype, 14, given.layout),
                                     15, {.d_lse = true});
  EXPECT_EQ(wrong_gradients(engine_, program, step), "");
  EXPECT_EQ(wrong_gradients(engine_, program, step, {.deterministic = true}), "");
}

INSTANTIATE_TEST_SUITE_P(AnyOperands, GpuCapturesOf, ::testing::ValuesIn(kCapturedOperands),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace tilewright::device_tests
