// The reports of gradients: functions, numbers that change, views, dims, documents, empty problems
// (T07 to T10, T14, T19).

#include <cmath>

#include "base/element.h"
#include "field_reports/gradient_report.h"
#include "field_reports/lazy_memory.h"

namespace tilewright::cases {
namespace {

TEST(GradientReport, C063FloorDivisionOfNegativeOperands) {
  const Program program = trace([](Index, Index, Index q, Index kv) {
    return (floor_div(q - 68, 4) == floor_div(kv - 68, 4)) &
           (floor_mod(q - 64, 4) != floor_mod(kv - 65, 4));
  });
  TrainingStep step = random_step(square(1, 2, 192, 16), DType::kF32, 63);
  expect_gradients(program, step);
}

/// One query row of 1 against the keys -2 to 2, scale 1: the scores are the keys.
TrainingStep five_scores() {
  Extents extents = square(1, 1, 1, 1);
  extents.kv_len = 5;
  TrainingStep step = random_step(extents, DType::kF32, 67);
  step.operands.query.fill(1.0);
  step.operands.key.fill([](const Dims& at) { return static_cast<double>(at[2] - 2); });
  return step;
}

TEST(GradientReport, C067ClampPassesTheTieThatMinAndMaxSplit) {
  const Program clamped =
      trace([](Score s, Index, Index, Index, Index) { return clamp(s, -1.0, 1.0); });
  const Program split =
      trace([](Score s, Index, Index, Index, Index) { return min(max(s, -1.0), 1.0); });
  for (const Target& target : available_targets()) {
    TrainingStep step = five_scores();
    const Gradients whole = train(engine_on(target), clamped, step, {.scale = 1.0});
    const Gradients halves = train(engine_on(target), split, step, {.scale = 1.0});
    const auto at = [](const Gradients& of, std::int64_t key) {
      return of.d_key.at({0, 0, key, 0});
    };
    for (const std::int64_t outside : {0, 4}) {
      EXPECT_EQ(at(whole, outside), 0.0);
      EXPECT_EQ(at(halves, outside), 0.0);
    }
    for (const std::int64_t tie : {1, 3}) {
      EXPECT_NE(at(whole, tie), 0.0);
      EXPECT_EQ(at(halves, tie), 0.5 * at(whole, tie)) << target.name();
    }
    EXPECT_EQ(at(halves, 2), at(whole, 2));
  }
}

TEST(GradientReport, C071ScoresThatIgnoreTheScore) {
  Tensor adjacency(DType::kF32, {50, 50});
  Random random(71);
  adjacency.fill([&](const Dims&) { return random.chance(0.5) ? 1.0 : 0.0; });
  const Capture adj("adj", adjacency);
  const Program program = trace([&](Score, Index, Index, Index q, Index kv) {
    return Score(select(adj[q][kv] > 0.5, Value(0.0), Value(1.0)));
  });
  TrainingStep step = random_step(square(1, 2, 50, 16), DType::kF32, 71);
  const Gradients gradients = expect_gradients(program, step);
  EXPECT_EQ(largest(gradients.d_query), 0.0);
  EXPECT_EQ(largest(gradients.d_key), 0.0);
  EXPECT_GT(largest(gradients.d_value), 0.0);
}

TEST(GradientReport, C075SoftcapOfLargeScores) {
  for (const double cap : {15.0, 0.5}) {
    const Program program =
        trace([cap](Score s, Index, Index, Index, Index) { return cap * tanh(s / cap); });
    TrainingStep step = random_step(square(1, 1, 90, 16), DType::kF32, 75);
    expect_gradients(program, step, {.scale = 12.0});
  }
}

TEST(GradientReport, C078BackwardUsesTheNumberOfItsForward) {
  for (const double c : {1.0, 0.5, 2.0, 0.5}) {
    TrainingStep step = random_step(square(1, 1, 60, 16), DType::kF32, 78);
    expect_gradients(trace([c](Score s, Index, Index, Index, Index) { return clamp(s, -c, c); }),
                     step);
  }
}

/// Gradients of views of larger buffers, each with a buffer of the same kind.
TEST(GradientReport, C085SlicedKeysAndValues) {
  const Operands whole = random_operands(square(1, 4, 500, 32), DType::kF32, 85);
  TrainingStep copied = step_of({.query = whole.query,
                                 .key = copy_of(slice(whole.key, 2, 0, 372)),
                                 .value = copy_of(slice(whole.value, 2, 0, 372))},
                                86);
  const Gradients expected = expect_gradients(Program(), copied);
  BackwardInputs inputs = copied.inputs();
  inputs.key = slice(whole.key, 2, 0, 372);
  inputs.value = slice(whole.value, 2, 0, 372);
  Tensor d_key(DType::kF32, whole.key.shape()), d_value(DType::kF32, whole.value.shape());
  d_key.fill(0.0);
  d_value.fill(0.0);
  const Tensor d_query(DType::kF32, whole.query.shape());
  for (int run = 0; run < 2; ++run) {
    engine_on(fastest_target())
        .attention_backward(Program(), inputs,
                            {.d_query = d_query.view(),
                             .d_key = slice(d_key, 2, 0, 372),
                             .d_value = slice(d_value, 2, 0, 372),
                             .captures = {}});
    EXPECT_EQ(compare_bits(d_query, expected.d_query).reason, "");
    EXPECT_EQ(compare_bits(copy_of(slice(d_key, 2, 0, 372)), expected.d_key).reason, "");
    EXPECT_EQ(compare_bits(copy_of(slice(d_value, 2, 0, 372)), expected.d_value).reason, "");
  }
  EXPECT_EQ(largest(slice(d_key, 2, 372, 500)), 0.0);
  EXPECT_EQ(largest(slice(d_value, 2, 372, 500)), 0.0);
}

/// The view [B, H, S, D] of one third of a packed [B, S, 3 H D] buffer.
TensorView third_of(const Tensor& packed, int part, const Dims& shape) {
  TensorView view = packed.view();
  view.shape = shape;
  view.strides = {packed.view().strides[0], shape[3], packed.view().strides[1], 1};
  view.data = static_cast<float*>(packed.view().data) + part * shape[1] * shape[3];
  return view;
}

TEST(GradientReport, C089PackedOperandsAndAPackedGradient) {
  const Dims shape{2, 3, 77, 20};
  Tensor packed(DType::kF32, {2, 77, 180}), d_packed(DType::kF32, {2, 77, 180});
  Random random(89);
  packed.fill_normal(random);
  TrainingStep copied = step_of({.query = copy_of(third_of(packed, 0, shape)),
                                 .key = copy_of(third_of(packed, 1, shape)),
                                 .value = copy_of(third_of(packed, 2, shape))},
                                90);
  const Gradients expected = expect_gradients(causal(), copied);
  BackwardInputs inputs = copied.inputs();
  inputs.query = third_of(packed, 0, shape);
  inputs.key = third_of(packed, 1, shape);
  inputs.value = third_of(packed, 2, shape);
  engine_on(fastest_target())
      .attention_backward(causal(), inputs,
                          {.d_query = third_of(d_packed, 0, shape),
                           .d_key = third_of(d_packed, 1, shape),
                           .d_value = third_of(d_packed, 2, shape),
                           .captures = {}});
  const Tensor* const parts[] = {&expected.d_query, &expected.d_key, &expected.d_value};
  for (int part = 0; part < 3; ++part)
    EXPECT_EQ(compare_bits(copy_of(third_of(d_packed, part, shape)), *parts[part]).reason, "");
}

TEST(GradientReport, C091OneTensorAsQueryKeyAndValue) {
  const Operands operands = random_operands(square(2, 2, 90, 32), DType::kF32, 91);
  const Tensor& x = operands.query;
  TrainingStep apart = step_of({.query = x, .key = copy_of(x), .value = copy_of(x)}, 92);
  TrainingStep same = step_of({.query = x, .key = x, .value = x}, 92);
  EXPECT_EQ(bit_difference(expect_gradients(causal(), apart), expect_gradients(causal(), same)),
            "");
}

TEST(GradientReport, C092EveryCombinationOfLayouts) {
  const Extents extents = square(1, 2, 131, 16);
  for (int bits = 0; bits < 8; ++bits) {
    const auto layout = [&](int bit) {
      return (bits >> bit & 1) != 0 ? Layout::kTransposed : Layout::kContiguous;
    };
    const Operands turned = random_operands(extents, DType::kF32, 93, layout(0));
    const Operands others = random_operands(extents, DType::kF32, 93, layout(1));
    TrainingStep step = step_of({.query = turned.query, .key = others.key, .value = others.value},
                                94, {.d_out_layout = layout(2)});
    expect_gradients(causal(), step);
  }
}

TEST(GradientReport, C094HeadAndValueDimsApart) {
  for (const auto& [head_dim, value_dim] : {std::pair{128, 512}, std::pair{64, 128}}) {
    Extents extents = square(1, 8, 40, head_dim);
    extents.kv_heads = 4;
    extents.value_dim = value_dim;
    TrainingStep step = random_step(extents, DType::kF32, 95);
    const Gradients gradients = expect_gradients(causal(), step);
    EXPECT_EQ(gradients.d_key.shape()[3], head_dim);
    EXPECT_EQ(gradients.d_value.shape()[3], value_dim);
  }
}

TEST(GradientReport, C102KeyStridesPastTwoToThe31) {
  // Rows 3.6 million elements apart: the last of 600 lies past element 2^31, as its gradient does.
  constexpr std::int64_t kKeys = 600, kApart = 3'600'000, kDim = 32;
  constexpr auto kBytes = static_cast<std::size_t>(kKeys * kApart) * 2;
  const LazyMemory memory(kBytes), key_gradient(kBytes), value_gradient(kBytes);
  const auto far = [&](const LazyMemory& in) {
    return TensorView{.data = in.data(),
                      .dtype = DType::kBF16,
                      .shape = {1, 1, kKeys, kDim},
                      .strides = {kDim, kDim, kApart, 1},
                      .device = {}};
  };
  Extents extents = square(1, 1, 70, kDim);
  extents.kv_len = kKeys;
  TrainingStep near = random_step(extents, DType::kBF16, 102);
  for_each_index(near.operands.key.shape(), [&](const Dims& at) {
    near.operands.value.set(at, near.operands.key.at(at));
    write_real(far(memory), offset_of(far(memory), at), near.operands.key.at(at));
  });
  const Gradients expected = train(engine_on(fastest_target()), Program(), near);
  BackwardInputs inputs = near.inputs();
  inputs.key = inputs.value = far(memory);
  const Tensor d_query(DType::kBF16, near.operands.query.shape());
  engine_on(fastest_target())
      .attention_backward(Program(), inputs,
                          {.d_query = d_query.view(),
                           .d_key = far(key_gradient),
                           .d_value = far(value_gradient),
                           .captures = {}});
  EXPECT_EQ(compare_bits(d_query, expected.d_query).reason, "");
  EXPECT_EQ(compare_bits(copy_of(far(key_gradient)), expected.d_key).reason, "");
  EXPECT_EQ(compare_bits(copy_of(far(value_gradient)), expected.d_value).reason, "");
}

TEST(GradientReport, C137ChangingOneDocumentLeavesTheOthersBitForBit) {
  Tensor ids(DType::kI32, {300});
  ids.fill([](const Dims& at) { return at[0] < 90 ? 0.0 : at[0] < 211 ? 1.0 : 2.0; });
  const Capture document("document", ids);
  const Program program = trace([&](Index, Index, Index q, Index kv) {
    return (Index(document[q]) == Index(document[kv])) & (q >= kv);
  });
  TrainingStep step = random_step(square(1, 2, 300, 32), DType::kF32, 137);
  const Gradients before = expect_gradients(program, step);
  Random random(1370);
  for (Tensor* tensor :
       {&step.operands.query, &step.operands.key, &step.operands.value, &step.d_out})
    for_each_index(tensor->shape(), [&](const Dims& at) {
      if (at[2] < 90) tensor->set(at, 3 * random.normal());
    });
  const Gradients after = expect_gradients(program, step);
  const auto others = [](const Tensor& tensor) { return slice(tensor, 2, 90, 300); };
  EXPECT_EQ(compare_bits(others(before.d_query), others(after.d_query)).reason, "");
  EXPECT_EQ(compare_bits(others(before.d_key), others(after.d_key)).reason, "");
  EXPECT_EQ(compare_bits(others(before.d_value), others(after.d_value)).reason, "");
}

TEST(GradientReport, C166EmptyBatchesAndNoHeads) {
  for (const Extents& extents : {square(0, 2, 30, 16), square(2, 0, 30, 16)}) {
    TrainingStep step = random_step(extents, DType::kF32, 166);
    EXPECT_EQ(expect_gradients(causal(), step).d_key.size(), 0);
  }
}

TEST(GradientReport, C168NoQueriesOrNoKeys) {
  Extents no_queries = square(2, 2, 7, 16);
  no_queries.q_len = 0;
  Extents no_keys = square(2, 2, 7, 16);
  no_keys.kv_len = 0;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    TrainingStep queryless = random_step(no_queries, dtype, 168);
    const Gradients zeros = expect_gradients(causal(), queryless);
    EXPECT_EQ(largest(zeros.d_key), 0.0);
    EXPECT_EQ(largest(zeros.d_value), 0.0);
    TrainingStep keyless = random_step(no_keys, dtype, 168);
    EXPECT_EQ(largest(expect_gradients(causal(), keyless).d_query), 0.0);
  }
}

}  // namespace
}  // namespace tilewright::cases
