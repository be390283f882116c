// T12: decoding.

#include <cmath>

#include "field_reports/report.h"
#include "support/comparison.h"

namespace tilewright::cases {
namespace {

/// Rows of key and value from `begin` on set to one number.
void fill_slots(Operands& operands, std::int64_t begin, double value) {
  for (Tensor* tensor : {&operands.key, &operands.value}) {
    const Dims& shape = tensor->shape();
    for_each_index(shape, [&](const Dims& at) {
      if (at[2] >= begin) tensor->set(at, value);
    });
  }
}

TEST(FieldReport, C113UnusedCacheSlotsNeverMatter) {
  const Extents cache{.query_heads = 8,
                      .kv_heads = 8,
                      .q_len = 1,
                      .kv_len = 2048,
                      .head_dim = 128,
                      .value_dim = 128};
  const Number last("last", 100);
  const Program masked = trace([&](Index, Index, Index, Index kv) { return kv <= last; });
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    Operands operands = random_operands(cache, dtype, 113);
    fill_slots(operands, 101, 0);
    const Results zeros = expect_meaning(masked, operands.inputs());
    fill_slots(operands, 101, 1e4);
    expect_same_bits(zeros, expect_meaning(masked, operands.inputs()));
    const ForwardInputs cut{operands.query.view(), slice(operands.key, 2, 0, 101),
                            slice(operands.value, 2, 0, 101)};
    const Results by_length = expect_meaning(Program(), cut);
    fill_slots(operands, 101, std::nan(""));
    expect_same_bits(by_length, expect_meaning(Program(), cut));
  }
}

TEST(FieldReport, C109DecodingMoreThan65535SequencesWritesEveryOutput) {
  for (const bool by_head : {false, true}) {
    Extents extents = square(by_head ? 1 : 65537, by_head ? 65537 : 1, 1, 4);
    extents.kv_len = 3;
    const Operands operands = random_operands(extents, DType::kF32, 109);
    Results results = results_for(operands.inputs());
    results.out.fill(7.0);
    engine_on(fastest_target()).attention(Program(), operands.inputs(), results.outputs());
    EXPECT_EQ(mismatch(results, reference_of(Program(), operands.inputs()), DType::kF32), "");
  }
}

TEST(FieldReport, C116OneSequencesLengthLeavesTheOthersAlone) {
  const Extents extents{.batch = 4,
                        .kv_batch = 4,
                        .query_heads = 2,
                        .kv_heads = 1,
                        .q_len = 1,
                        .kv_len = 1000,
                        .head_dim = 64,
                        .value_dim = 64};
  Tensor lengths(DType::kI32, {4});
  const double initial[] = {900, 1000, 120, 500};
  lengths.fill([&](const Dims& at) { return initial[at[0]]; });
  const Capture length("length", lengths);
  const Program program =
      trace([&](Index b, Index, Index, Index kv) { return kv < Index(length[b]); });
  const Operands operands = random_operands(extents, DType::kF32, 116);
  const Results before = expect_meaning(program, operands.inputs());
  lengths.set({0}, 800);
  const Results after = expect_meaning(program, operands.inputs());
  for_each_index(before.out.shape(), [&](const Dims& at) {
    if (at[0] != 0) {
      EXPECT_NEAR(before.out.at(at), after.out.at(at), 1e-6);
    }
  });
}

TEST(FieldReport, C119DecodedRowsEqualPrefilledOnes) {
  const Operands operands = random_operands(square(1, 4, 300, 64), DType::kF32, 119);
  const Results prefill = expect_meaning(causal(), operands.inputs());
  for (const std::int64_t p : {0, 63, 64, 127, 128, 255, 299}) {
    const ForwardInputs step{slice(operands.query, 2, p, p + 1), slice(operands.key, 2, 0, p + 1),
                             slice(operands.value, 2, 0, p + 1)};
    const Results decoded = expect_meaning(Program(), step);
    for_each_index(decoded.out.shape(), [&](const Dims& at) {
      EXPECT_NEAR(decoded.out.at(at), prefill.out.at({at[0], at[1], p, at[3]}), 2e-6);
    });
  }
}

TEST(FieldReport, LongRowsSplitOverKeys) {
  const Extents extents{.query_heads = 1,
                        .kv_heads = 1,
                        .q_len = 2,
                        .kv_len = 20000,
                        .head_dim = 64,
                        .value_dim = 64};
  const Program window =
      trace([](Score s, Index, Index, Index q, Index kv) { return s + 0.001 * (q - kv); },
            [](Index, Index, Index q, Index kv) { return kv + q >= 3000; });
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    const Operands operands = random_operands(extents, dtype, 120);
    expect_meaning(Program(), operands.inputs());
    expect_meaning(window, operands.inputs());
  }
}

}  // namespace
}  // namespace tilewright::cases
