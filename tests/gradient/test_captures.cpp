// Captured gradients (semantics R7) under every structure of subscripts.

#include <gtest/gtest.h>

#include "support/backward.h"
#include "support/every_subscript.h"
#include "support/targets.h"

namespace tilewright::cases {
namespace {

void expect_meaning_of(const Extents& extents, DType dtype) {
  EntryContext context(extents, 31);
  const Program program = every_subscript(context);
  TrainingStep step = step_of(random_operands(extents, dtype, 32), 33, {.d_lse = true});
  const GradientReference reference = gradient_reference_of(program, step);
  for (const Target& target : available_targets()) {
    const Gradients gradients = train(engine_on(target), program, step);
    EXPECT_EQ(mismatch(gradients, reference, dtype), "") << target.name();
    for_each_index({3}, [&](const Dims& at) {
      EXPECT_EQ(gradients.captures.at("unread").at(at), 0) << target.name();
    });
  }
}

TEST(CapturedGradients, EverySubscript) {
  Extents extents = square(2, 2, 67, 16);
  extents.kv_heads = 1;
  extents.kv_len = 141;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16})
    expect_meaning_of(extents, dtype);
}

TEST(CapturedGradients, SharedKeys) {
  Extents extents = square(3, 2, 40, 8);
  extents.kv_batch = 1;
  expect_meaning_of(extents, DType::kF32);
}

TEST(CapturedGradients, StridedAndExpandedTensors) {
  const Extents extents = square(1, 3, 71, 8);
  Random random(34);
  Tensor slopes(TensorSpec{.dtype = DType::kF32, .shape = {71, 3}, .layout = Layout::kSliced});
  slopes.fill_normal(random);
  Tensor one(DType::kF32, {1, 71});
  one.fill_normal(random);
  const Capture by_row("by_row", slopes.view());
  const Capture expanded("expanded", expand(one.view(), 0, 3));
  const Program program = trace([&](Score s, Index, Index h, Index q, Index kv) {
    return s + by_row[q][h] * 0.3 + expanded[h][kv];
  });
  TrainingStep step = step_of(random_operands(extents, DType::kF32, 35), 36, {.d_lse = true});
  const GradientReference reference = gradient_reference_of(program, step);
  for (const Target& target : available_targets())
    EXPECT_EQ(mismatch(train(engine_on(target), program, step), reference, DType::kF32), "")
        << target.name();
}

TEST(CapturedGradients, SubscriptsGuardedByTheMaskOrACondition) {
  const Extents extents = square(1, 2, 90, 8);
  EntryContext context(extents, 37);
  const Capture recent = context.normal("recent", DType::kF32, {40});
  const Capture later = context.normal("later", DType::kF32, {30});
  const Program program = trace(
      [&](Score s, Index, Index, Index q, Index kv) {
        // Without the mask or the conditions these would leave the tensors.
        Score t = s + recent[q - kv];
        if (q >= 60) t = t + later[q - 60];
        if (kv >= 60) t = t + later[kv - 60] * 0.5;
        return t;
      },
      [](Index, Index, Index q, Index kv) { return (kv <= q) & (q - kv < 40); });
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    TrainingStep step = step_of(random_operands(extents, dtype, 38), 39, {.d_lse = true});
    const GradientReference reference = gradient_reference_of(program, step);
    for (const Target& target : available_targets())
      EXPECT_EQ(mismatch(train(engine_on(target), program, step), reference, dtype), "")
          << target.name();
  }
}

}  // namespace
}  // namespace tilewright::cases
