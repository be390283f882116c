// The reports of gradients: empty rows, lengths, shared keys, captured tensors (T01, T02, T04 to
// T06).

#include <array>
#include <cmath>
#include <limits>

#include "field_reports/gradient_report.h"

namespace tilewright::cases {
namespace {

Program without_every_fourth() {
  return trace(
      [](Index, Index h, Index q, Index kv) { return (kv <= q) & (floor_mod(q + h, 4) != 3); });
}

bool is_empty(const Dims& at) { return (at[2] + at[1]) % 4 == 3; }

TEST(GradientReport, C001EmptyRowsHaveNoGradient) {
  TrainingStep step = step_of(filled_operands(square(1, 2, 40, 8)), 1);
  const Gradients gradients = expect_gradients(without_every_fourth(), step);
  for_each_index(gradients.d_query.shape(), [&](const Dims& at) {
    if (is_empty(at)) {
      EXPECT_EQ(gradients.d_query.at(at), 0.0);
    }
  });
  for (const Tensor* each : {&gradients.d_query, &gradients.d_key, &gradients.d_value})
    EXPECT_TRUE(std::isfinite(largest(*each)));
}

TEST(GradientReport, C002WhateverEmptyRowsAreGivenChangesNothing) {
  TrainingStep step = step_of(filled_operands(square(1, 2, 40, 8)), 2);
  std::optional<Gradients> first;
  for (const double given : {0.0, 1e3, std::numeric_limits<double>::quiet_NaN()}) {
    for_each_index(step.d_out.shape(), [&](const Dims& at) {
      if (is_empty(at)) step.d_out.set(at, given);
    });
    Gradients gradients = train(engine_on(fastest_target()), without_every_fourth(), step);
    EXPECT_TRUE(std::isfinite(largest(gradients.d_value)));
    if (first) {
      EXPECT_EQ(bit_difference(gradients, *first), "") << given;
    } else {
      first = std::move(gradients);
    }
  }
}

TEST(GradientReport, C003RowsThatAreEmptyInTheFirstTileVisited) {
  const Program program =
      trace([](Index, Index, Index q, Index kv) { return (q - kv >= 0) & (q - kv < 8); });
  for (const std::int64_t length : {130, 512}) {
    TrainingStep step = random_step(square(1, 1, length, 16), DType::kF32, 3);
    expect_gradients(program, step);
  }
}

TEST(GradientReport, C019LengthsThatAreNoMultipleOf32) {
  for (const Extents& extents : ragged_extents()) {
    Tensor table = half_visible(extents);
    const Capture visible("visible", table);
    const Program program =
        trace([&](Index, Index, Index q, Index kv) { return Bool(visible[q][kv]); });
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      TrainingStep step = random_step(extents, dtype, 19);
      expect_gradients(program, step);
    }
  }
}

TEST(GradientReport, C021LengthOf4250) {
  TrainingStep step = random_step(square(1, 1, 4250, 8), DType::kBF16, 21);
  const GradientReference reference = gradient_reference_of(causal(), step);
  EXPECT_EQ(mismatch(train(engine_on(fastest_target()), causal(), step), reference, DType::kBF16),
            "");
}

TEST(GradientReport, C043KeysSharedByTheBatchGetTheSum) {
  const Program program = trace(
      [](Index b, Index, Index q, Index kv) { return (kv <= q) & (floor_mod(kv + b, 8) != 0); });
  Extents extents = square(8, 2, 50, 16);
  extents.kv_batch = 1;
  TrainingStep step = random_step(extents, DType::kF32, 43);
  const Gradients gradients = expect_gradients(program, step);
  EXPECT_EQ(gradients.d_key.shape(), (Dims{1, 2, 50, 16}));
}

TEST(GradientReport, C044DeadLanesNeverReadPastACapture) {
  Tensor buffer(TensorSpec{.dtype = DType::kI64,
                           .shape = {127},
                           .layout = Layout::kContiguous,
                           .placement = Placement::kGuardAfter});
  buffer.fill([](const Dims& at) { return static_cast<double>(at[0] % 5); });
  const Capture buf("buf", buffer);
  const Program program =
      trace([&](Score s, Index, Index, Index, Index kv) { return s + buf[kv]; },
            [](Index, Index, Index q, Index kv) { return (kv < 127) & (kv <= q); });
  TrainingStep step = random_step(square(1, 2, 128, 16), DType::kF32, 44);
  expect_gradients(program, step);
}

TEST(GradientReport, C052TableThatManyPairsRead) {
  Tensor table(DType::kF32, {48});
  table.fill([](const Dims& at) { return static_cast<double>(29 * at[0] % 61 - 30) / 16; });
  const Capture tab("tab", table);
  const Program program =
      trace([&](Score s, Index, Index, Index q, Index kv) { return s + tab[q - kv + 24]; });
  TrainingStep step = step_of(filled_operands(square(2, 2, 24, 8)), 52);
  const Gradients gradients = expect_gradients(program, step);
  const Tensor& d_tab = gradients.captures.at("tab");
  double sum = 0, size = 0;
  for (std::int64_t n = 0; n < 48; ++n) {
    sum += d_tab.at({n});
    size += std::abs(d_tab.at({n}));
  }
  EXPECT_EQ(d_tab.at({0}), 0.0) << "no pair reads it";
  EXPECT_LE(std::abs(sum), 1e-5 * size);
}

TEST(GradientReport, C053ScalarThatScalesTheScore) {
  Tensor factor(DType::kF16, {});
  factor.fill(0.75);
  const Capture r("r", factor);
  const Program program = trace([&](Score s, Index, Index, Index, Index) { return s * Value(r); },
                                [](Index, Index, Index q, Index kv) { return q >= kv; });
  for (const std::int64_t length : {64, 128, 1024}) {
    TrainingStep step = random_step(square(1, 2, length, 16), DType::kF16, 53, {.d_lse = true});
    const Gradients gradients = expect_gradients(program, step);
    EXPECT_EQ(gradients.captures.at("r").shape(), Dims());
  }
}

TEST(GradientReport, C059DotOfCapturedRowsIsAConcatenation) {
  constexpr std::int64_t kTerms = 64;
  constexpr double kWeight = 0.125;
  Extents extents = square(1, 16, 8, 16);
  extents.kv_heads = 1;
  Random random(59);
  Tensor qr(DType::kF32, {16, 8, kTerms}), kr(DType::kF32, {8, kTerms});
  qr.fill_normal(random);
  kr.fill_normal(random);
  const Capture rows("qr", qr), keys("kr", kr);
  const Program program = trace([&](Score s, Index, Index h, Index q, Index kv) {
    return s + kWeight * dot(Vector(rows[h][q]), Vector(keys[kv]));
  });
  TrainingStep step = random_step(extents, DType::kF32, 59);
  expect_gradients(program, step);
}

TEST(GradientReport, C060BroadcastAxesOfABias) {
  constexpr std::int64_t kLength = 40, kHeads = 3;
  const Extents extents = square(2, kHeads, kLength, 16);
  for (const Dims& shape : {Dims{1, 1, 1, kLength}, Dims{1, kHeads, 1, kLength},
                            Dims{2, 1, 1, kLength}, Dims{2, kHeads, kLength, kLength}}) {
    Tensor bias(DType::kF32, shape);
    Random random(60);
    bias.fill_normal(random);
    const Capture captured("bias", bias);
    const auto index = [&](std::size_t axis, const Index& at) {
      return shape[axis] == 1 ? Value(0) : Value(at);
    };
    const Program program = trace([&](Score s, Index b, Index h, Index q, Index kv) {
      return s + captured[index(0, b)][index(1, h)][index(2, q)][kv];
    });
    TrainingStep step = random_step(extents, DType::kF32, 60);
    EXPECT_EQ(expect_gradients(program, step).captures.at("bias").shape(), shape);
  }
}

TEST(GradientReport, C062HeadCountsThatChangeBetweenCalls) {
  for (const std::int64_t heads : {2, 4, 8, 2}) {
    Tensor scales(DType::kF32, {heads});
    Random random(static_cast<std::uint64_t>(62 + heads));
    scales.fill_normal(random);
    const Capture head_scale("head_scale", scales);
    const Program program =
        trace([&](Score s, Index, Index h, Index, Index) { return s * head_scale[h]; });
    TrainingStep step = random_step(square(1, heads, 40, 16), DType::kF32, 62, {.d_lse = true});
    expect_gradients(program, step);
  }
}

}  // namespace
}  // namespace tilewright::cases
