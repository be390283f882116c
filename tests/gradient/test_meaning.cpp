// Semantics R4, R6 and R7 where tolerance does not reach: exact zeros, subsets, shapes of every
// kind.

#include <limits>

#include "engine/calls.h"
#include "support/backward.h"
#include "support/comparison.h"
#include "support/entry.h"
#include "support/targets.h"
#include "tilewright/mask_map.h"

namespace tilewright::cases {
namespace {

std::vector<Target> cpu_targets() {
  std::vector<Target> targets;
  for (const Target& target : available_targets())
    if (target.backend == "cpu") targets.push_back(target);
  return targets;
}

void expect_gradients(const Program& program, TrainingStep step, const CallOptions& options = {}) {
  const DType dtype = step.operands.query.view().dtype;
  const GradientReference reference = gradient_reference_of(program, step, options);
  for (const Target& target : cpu_targets())
    EXPECT_EQ(mismatch(train(engine_on(target), program, step, options), reference, dtype), "")
        << target.name();
}

double largest(const TensorView& view) {
  double most = 0;
  for_each_index(view.shape, [&](const Dims& at) {
    const double value = std::abs(Tensor::value_at(view, at));
    most = value <= most ? most : value;  // NaN stays
  });
  return most;
}

TEST(Backward, PaddedHeadDims) {
  for (const std::int64_t dim : {72, 104, 120})
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64})
      expect_gradients(causal(), step_of(random_operands(square(1, 2, 77, dim), dtype, 5), 6));
}

TEST(Backward, SharedKeysAndGroups) {
  Extents extents = square(3, 6, 70, 24);
  extents.kv_batch = 1;
  extents.kv_heads = 2;
  extents.kv_len = 150;
  expect_gradients(causal(), step_of(random_operands(extents, DType::kF32, 7), 8));
}

TEST(Backward, MasksThatDifferPerHeadAndAreNotSymmetric) {
  const Program program = trace([](Index b, Index h, Index q, Index kv) {
    return (kv <= q + 11 * h + b) & ((q * 7 + kv * 3) % 5 != h);
  });
  expect_gradients(program, step_of(random_operands(square(2, 3, 190, 16), DType::kF32, 9), 10));
}

TEST(Backward, WideAndExpandedOutputGradients) {
  const Operands operands = random_operands(square(1, 2, 66, 32), DType::kBF16, 11);
  expect_gradients(causal(), step_of(operands, 12, {.d_out_dtype = DType::kF32}));
  expect_gradients(causal(), step_of(operands, 12, {.d_out_dtype = DType::kF64}));
  expect_gradients(causal(), step_of(operands, 12, {.d_out_layout = Layout::kExpanded}));
  expect_gradients(causal(), step_of(operands, 12, {.d_out_layout = Layout::kInnerNegative}));
}

TEST(Backward, GradientOfLse) {
  StepSpec spec;
  spec.d_lse = true;
  expect_gradients(causal(),
                   step_of(random_operands(square(2, 2, 90, 16), DType::kF32, 13), 14, spec));
}

/// Rows before kFirstLive and keys from kDeadKeys on have no live pair.
constexpr std::int64_t kFirstLive = 70;
constexpr std::int64_t kDeadKeys = 180;

TEST(Backward, RowsAndKeysWithoutAPairGetExactZeros) {
  const Program program =
      trace([](Score s, Index, Index, Index, Index) { return 2.0 * tanh(s); },
            [](Index, Index, Index q, Index kv) { return (q >= kFirstLive) & (kv < kDeadKeys); });
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    Extents extents = square(1, 2, 150, 16);
    extents.kv_len = 420;
    TrainingStep step = step_of(random_operands(extents, dtype, 15), 16);
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t i = 0; i < kFirstLive; ++i)
      for (std::int64_t d = 0; d < 16; ++d) {
        step.d_out.set({0, 1, i, d}, kNan);
        step.operands.query.set({0, 0, i, d}, kNan);
      }
    for (const Target& target : cpu_targets()) {
      const Gradients gradients = train(engine_on(target), program, step);
      EXPECT_EQ(largest(slice(gradients.d_query, 2, 0, kFirstLive)), 0) << target.name();
      EXPECT_EQ(largest(slice(gradients.d_key, 2, kDeadKeys, 420)), 0) << target.name();
      EXPECT_EQ(largest(slice(gradients.d_value, 2, kDeadKeys, 420)), 0) << target.name();
      EXPECT_TRUE(std::isfinite(largest(gradients.d_key))) << target.name();
      EXPECT_GT(largest(slice(gradients.d_key, 2, 0, kDeadKeys)), 0) << target.name();
    }
  }
}

TEST(Backward, AnySubsetHasTheBitsOfTheWhole) {
  EntryContext context(square(1, 2, 140, 16), 17);
  const Capture slope = context.normal("slope", DType::kF32, {2});
  const Capture table = context.normal("table", DType::kF32, {300});
  const Program program = trace([&](Score s, Index, Index h, Index q, Index kv) {
    return s + slope[h] * (q - kv) * 0.01 + table[q - kv + 150];
  });
  TrainingStep step = step_of(random_operands(context.extents, DType::kF32, 18), 19);
  Engine& engine = engine_on(cpu_targets().back());
  const Gradients whole = train(engine, program, step);
  for (int subset = 0; subset < 32; ++subset) {
    Gradients part = gradients_for(step, program);
    BackwardOutputs outputs = part.outputs();
    if ((subset & 1) == 0) outputs.d_query.reset();
    if ((subset & 2) == 0) outputs.d_key.reset();
    if ((subset & 4) == 0) outputs.d_value.reset();
    if ((subset & 8) == 0) outputs.captures.erase("slope");
    if ((subset & 16) == 0) outputs.captures.erase("table");
    engine.attention_backward(program, step.inputs(), outputs);
    if (outputs.d_query) {
      EXPECT_EQ(compare_bits(part.d_query, whole.d_query).reason, "");
    }
    if (outputs.d_key) {
      EXPECT_EQ(compare_bits(part.d_key, whole.d_key).reason, "");
    }
    if (outputs.d_value) {
      EXPECT_EQ(compare_bits(part.d_value, whole.d_value).reason, "");
    }
    for (const auto& [name, view] : outputs.captures)
      EXPECT_EQ(compare_bits(view, whole.captures.at(name)).reason, "") << name;
  }
}

TEST(Backward, PreparedCallsTakeAScaleAndAMaskMap) {
  Extents extents = square(1, 2, 150, 16);
  const Program program =
      trace([](Score s, Index, Index, Index, Index) { return s; },
            [](Index, Index h, Index q, Index kv) { return q >= kv && q - kv < 40 + 7 * h; });
  TrainingStep step = step_of(random_operands(extents, DType::kF32, 25), 26);
  Engine& engine = engine_on(cpu_targets().back());
  const MaskMap map =
      MaskMap::build(program, {.heads = 2, .q_len = 150, .kv_len = 150, .q_block = 32});
  const CallOptions options{.scale = 0.4, .mask_map = &map};
  const Gradients whole = train(engine, program, step, options);
  EXPECT_EQ(mismatch(whole, gradient_reference_of(program, step, options), DType::kF32), "");
  const Attention attention = engine.prepare(program, problem_of(extents));
  const Gradients prepared = gradients_for(step, program);
  EXPECT_TRUE(attention.backward(step.inputs(), prepared.outputs(), options).deterministic);
  EXPECT_EQ(mismatch(prepared, gradient_reference_of(program, step, options), DType::kF32), "");
  const MaskMap other = MaskMap::build(program, {.heads = 2, .q_len = 151, .kv_len = 150});
  const CallOptions wrong{.mask_map = &other};
  EXPECT_THROW(attention.backward(step.inputs(), prepared.outputs(), wrong), Error);
}

TEST(Backward, ScoresThatIgnoreTheScore) {
  EntryContext context(square(1, 2, 75, 8), 20);
  const Capture bias = context.normal("bias", DType::kF32, {75, 75});
  const Program constant = trace([](Score, Index, Index, Index, Index) { return Score(0.5); });
  const Program biased =
      trace([&](Score, Index, Index, Index q, Index kv) { return Score(bias[q][kv]); });
  for (const Program& program : {constant, biased}) {
    TrainingStep step = step_of(random_operands(context.extents, DType::kF32, 21), 22);
    expect_gradients(program, step);
    const Gradients gradients = train(engine_on(cpu_targets().back()), program, step);
    EXPECT_EQ(largest(gradients.d_query), 0);
    EXPECT_EQ(largest(gradients.d_key), 0);
  }
}

TEST(Backward, PathsNotTakenContributeNothingWhateverTheyHold) {
  const Program program = trace([](Score s, Index, Index, Index q, Index kv) {
    return select(q > kv, s + sqrt(Score(q - kv - 1.0)) * log(Score(q - kv)) * 0.01 * s, s);
  });
  TrainingStep step = step_of(random_operands(square(1, 1, 66, 8), DType::kF64, 23), 24);
  expect_gradients(program, step);
  EXPECT_TRUE(
      std::isfinite(largest(train(engine_on(cpu_targets().back()), program, step).d_query)));
}

}  // namespace
}  // namespace tilewright::cases
