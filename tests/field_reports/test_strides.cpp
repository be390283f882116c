// T09: strides, views, aliasing.

#include "field_reports/report.h"
#include "support/comparison.h"

namespace tilewright::cases {
namespace {

/// A view of `part` of a packed [B, S, 3 H D] buffer as [B, H, S, D].
TensorView packed_part(const Tensor& buffer, int part, std::int64_t heads, std::int64_t dim) {
  const TensorView& all = buffer.view();
  TensorView view = all;
  view.shape = {all.shape[0], heads, all.shape[1], dim};
  view.strides = {all.strides[0], dim, all.strides[1], 1};
  view.data = static_cast<float*>(all.data) + part * heads * dim;
  return view;
}

TEST(FieldReport, C089SplitAndTransposedViewsOfOneBuffer) {
  constexpr std::int64_t kHeads = 3, kDim = 20;
  Tensor packed(DType::kF32, {2, 77, 3 * kHeads * kDim});
  Random random(89);
  packed.fill_normal(random);
  const ForwardInputs views{packed_part(packed, 0, kHeads, kDim),
                            packed_part(packed, 1, kHeads, kDim),
                            packed_part(packed, 2, kHeads, kDim)};
  const Results from_views = expect_meaning(causal(), views);
  const Tensor q = copy_of(views.query), k = copy_of(views.key), v = copy_of(views.value);
  expect_same_bits(from_views, expect_meaning(causal(), {q.view(), k.view(), v.view()}));
}

TEST(FieldReport, C090SlicedKeysAndValues) {
  const Operands operands = random_operands(square(1, 4, 500, 64), DType::kF32, 90);
  const ForwardInputs cut{operands.query.view(), slice(operands.key, 2, 0, 372),
                          slice(operands.value, 2, 0, 372)};
  const Tensor k = copy_of(cut.key), v = copy_of(cut.value);
  expect_same_bits(expect_meaning(Program(), cut),
                   expect_meaning(Program(), {operands.query.view(), k.view(), v.view()}));
}

TEST(FieldReport, C091OneTensorAsQueryKeyAndValue) {
  const Operands operands = random_operands(square(2, 2, 90, 32), DType::kF32, 91);
  const TensorView x = operands.query.view();
  const Tensor k = copy_of(x), v = copy_of(x);
  expect_same_bits(expect_meaning(causal(), {x, x, x}),
                   expect_meaning(causal(), {x, k.view(), v.view()}));
}

TEST(FieldReport, C092EveryCombinationOfLayouts) {
  const Extents extents = square(1, 2, 513, 16);
  const Operands plain = random_operands(extents, DType::kF32, 92);
  const Operands moved = random_operands(extents, DType::kF32, 92, Layout::kTransposed);
  const Results expected = expect_meaning(causal(), plain.inputs());
  for (int bits = 1; bits < 16; ++bits) {
    const auto pick = [&](int bit, const Tensor& a, const Tensor& b) {
      return (bits >> bit & 1) != 0 ? b.view() : a.view();
    };
    const ForwardInputs inputs{pick(0, plain.query, moved.query), pick(1, plain.key, moved.key),
                               pick(2, plain.value, moved.value)};
    const Layout out_layout = (bits >> 3 & 1) != 0 ? Layout::kTransposed : Layout::kContiguous;
    const Results results = results_for(inputs, {.out_dtype = {}, .layout = out_layout});
    engine_on(fastest_target()).attention(causal(), inputs, results.outputs());
    expect_same_bits(results, expected);
  }
}

TEST(FieldReport, C093StridesOfAxesOfOneElementAreIgnored) {
  for (const std::int64_t stride : {std::int64_t{1}, (std::int64_t{1} << 31) + 7}) {
    Tensor q(DType::kF32, {1, 1, 2, 1}), k(DType::kF32, {1, 1, 1, 1}), v(DType::kF32, {1, 1, 1, 1});
    q.fill([](const Dims& at) { return 0.5 + static_cast<double>(at[2]); });
    k.fill(3.0);
    v.fill(-2.25);
    const auto poisoned = [stride](TensorView view) {
      for (std::size_t axis = 0; axis < view.rank(); ++axis)
        if (view.shape[axis] == 1) view.strides[axis] = stride;
      return view;
    };
    const ForwardInputs inputs{poisoned(q), poisoned(k), poisoned(v)};
    const Results results = expect_meaning(Program(), inputs);
    EXPECT_EQ(results.out.at({0, 0, 0, 0}), -2.25);
    EXPECT_EQ(results.out.at({0, 0, 1, 0}), -2.25);
    EXPECT_NEAR(results.lse->at({0, 0, 0}), 1.5, 1e-6);
    EXPECT_NEAR(results.lse->at({0, 0, 1}), 4.5, 1e-6);
  }
}

TEST(FieldReport, EveryLayoutOfEveryOperandAndOfOut) {
  const Extents extents{.batch = 2,
                        .kv_batch = 2,
                        .query_heads = 4,
                        .kv_heads = 2,
                        .q_len = 70,
                        .kv_len = 133,
                        .head_dim = 24,
                        .value_dim = 40};
  for (const Layout layout : kLayouts)
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
      const Operands operands = random_operands(extents, dtype, 94, layout);
      const Reference reference = reference_of(causal(), operands.inputs());
      for (const Target& target : available_targets()) {
        const Results results = results_for(operands.inputs(), {.out_dtype = {}, .layout = layout});
        engine_on(target).attention(causal(), operands.inputs(), results.outputs());
        EXPECT_EQ(mismatch(results, reference, dtype), "") << name(layout) << target.name();
      }
    }
}

TEST(FieldReport, CapturesWithAnyStrides) {
  const Operands operands = random_operands(square(1, 2, 60, 16), DType::kF32, 95);
  for (const Layout layout : {Layout::kTransposed, Layout::kSliced, Layout::kInnerStrided,
                              Layout::kInnerNegative, Layout::kNegative}) {
    Tensor table(TensorSpec{.dtype = DType::kF32, .shape = {2, 60, 60}, .layout = layout});
    Random random(95);
    table.fill_normal(random);
    const Capture bias("bias", table);
    expect_meaning(
        trace([&](Score s, Index, Index h, Index q, Index kv) { return s + bias[h][q][kv]; }),
        operands.inputs());
  }
}

}  // namespace
}  // namespace tilewright::cases
