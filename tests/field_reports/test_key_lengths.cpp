// Key lengths a batch entry, forward and backward, on the interpreter and every micro-kernel:
// against the reference with the lengths in its mask. What lies behind a length is NaN.

#include <cmath>

#include "engine/calls.h"
#include "field_reports/block_list_tensors.h"
#include "support/backward.h"
#include "support/comparison.h"
#include "support/entry.h"
#include "support/targets.h"
#include "tilewright/mask_map.h"

namespace tilewright::cases {
namespace {

constexpr std::int64_t kKeys = 300;
const std::vector<int> kLengths = {0, 1, 167, kKeys, 128};
const auto kBatch = static_cast<std::int64_t>(kLengths.size());

Tensor lengths_of(const std::vector<int>& values) {
  Tensor lengths(DType::kI32, {static_cast<std::int64_t>(values.size())});
  lengths.fill([&](const Dims& at) { return values[static_cast<std::size_t>(at[0])]; });
  return lengths;
}

/// kLengths as a captured table.
const Capture& captured_lengths() {
  static const Tensor table = lengths_of(kLengths);
  static const Capture capture("keys", table);
  return capture;
}

/// A way to mask, alone and among the keys that a batch entry has.
struct Masks {
  Program alone;
  Program within;
};

Masks every_pair(const Capture& keys) {
  return {.alone = {},
          .within = trace([keys](Index b, Index, Index, Index kv) { return kv < Index(keys[b]); })};
}

Masks window(const Capture& keys) {
  return {.alone = trace([](Index, Index, Index q, Index kv) { return q + 60 >= kv; }),
          .within = trace([keys](Index b, Index, Index q, Index kv) {
            return (kv < Index(keys[b])) & (q + 60 >= kv);
          })};
}

/// A captured table that keeps a gradient of each pair's diagonal.
Masks diagonals(const Capture& keys, const Capture& table) {
  const auto score = [table](Score s, Index, Index h, Index q, Index kv) {
    return s + table[h][q - kv + kKeys];
  };
  return {.alone = trace(score, [](Index, Index h, Index q, Index kv) { return q + 90 * h >= kv; }),
          .within = trace(score, [keys](Index b, Index h, Index q, Index kv) {
            return (kv < Index(keys[b])) & (q + 90 * h >= kv);
          })};
}

Extents extents_of(std::int64_t q_len, bool shared) {
  Extents extents = square(kBatch, 4, q_len, 24);
  extents.kv_heads = 2;
  extents.kv_len = kKeys;
  if (shared) extents.kv_batch = 1;
  return extents;
}

/// Makes what is dead for every reader of it NaN.
void spoil(const Operands& operands, const std::vector<int>& lengths) {
  const bool shared = operands.key.shape()[0] == 1;
  const int longest = *std::max_element(lengths.begin(), lengths.end());
  for (Tensor tensor : {operands.key, operands.value})
    for_each_index(tensor.shape(), [&](const Dims& at) {
      const int length = shared ? longest : lengths[static_cast<std::size_t>(at[0])];
      if (at[2] >= length) tensor.set(at, std::nan(""));
    });
}

void expect_forward(const Masks& masks, const Extents& extents, DType dtype,
                    const CallOptions& extra = {}) {
  const Operands operands = random_operands(extents, dtype, 90);
  const Reference reference = reference_of(masks.within, operands.inputs());
  spoil(operands, kLengths);
  std::vector<int> told = kLengths;
  told[0] = -7;
  told[3] = 1000000;
  const Tensor lengths = lengths_of(told);
  CallOptions options = extra;
  options.kv_lengths = &lengths.view();
  for (const Target& target : available_targets()) {
    const Results results = results_for(operands.inputs());
    engine_on(target).attention(masks.alone, operands.inputs(), results.outputs(), options);
    EXPECT_EQ(mismatch(results, reference, dtype), "") << target.name();
  }
}

TEST(KeyLengths, ForwardSeesTheKeysOfItsBatchEntry) {
  const Capture& keys = captured_lengths();
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64})
    for (const std::int64_t q_len : {1, 3, 140}) {
      expect_forward(every_pair(keys), extents_of(q_len, false), dtype);
      expect_forward(window(keys), extents_of(q_len, false), dtype);
    }
}

TEST(KeyLengths, ForwardOfSharedKeysAndSplitRows) {
  const Capture& keys = captured_lengths();
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    expect_forward(window(keys), extents_of(140, true), dtype);
    expect_forward(every_pair(keys), extents_of(2, true), dtype);
  }
  const std::vector<int> few = {0, 9000};
  for (const int length : few) {
    const Operands operands = random_operands({.query_heads = 1,
                                               .kv_heads = 1,
                                               .q_len = 1,
                                               .kv_len = 20000,
                                               .head_dim = 64,
                                               .value_dim = 64},
                                              DType::kF32, 91);
    const Tensor lengths = lengths_of({length});
    const Capture one("keys", lengths);
    const Reference reference = reference_of(every_pair(one).within, operands.inputs());
    spoil(operands, {length});
    for (const Target& target : available_targets()) {
      const Results results = results_for(operands.inputs());
      engine_on(target).attention({}, operands.inputs(), results.outputs(),
                                  {.scale = {}, .kv_lengths = &lengths.view()});
      EXPECT_EQ(mismatch(results, reference, DType::kF32), "") << target.name() << " " << length;
    }
  }
}

/// Exactly 0 behind each length.
std::string first_nonzero(const Tensor& gradient, const std::vector<int>& lengths) {
  const bool shared = gradient.shape()[0] == 1;
  const int longest = *std::max_element(lengths.begin(), lengths.end());
  std::string found;
  for_each_index(gradient.shape(), [&](const Dims& at) {
    const int length = shared ? longest : lengths[static_cast<std::size_t>(at[0])];
    if (found.empty() && at[2] >= length && gradient.at(at) != 0) found = to_string(at);
  });
  return found;
}

void expect_gradients(const Masks& masks, const Extents& extents, DType dtype,
                      const CallOptions& extra = {}) {
  TrainingStep step = step_of(random_operands(extents, dtype, 92), 93, {.d_lse = true});
  const GradientReference reference = gradient_reference_of(masks.within, step, extra);
  spoil(step.operands, kLengths);
  const Tensor lengths = lengths_of(kLengths);
  CallOptions options = extra;
  options.kv_lengths = &lengths.view();
  for (const Target& target : available_targets()) {
    const Gradients gradients = train(engine_on(target), masks.alone, step, options);
    EXPECT_EQ(mismatch(gradients, reference, dtype), "") << target.name();
    EXPECT_EQ(first_nonzero(gradients.d_key, kLengths), "") << target.name();
    EXPECT_EQ(first_nonzero(gradients.d_value, kLengths), "") << target.name();
  }
}

TEST(KeyLengths, BackwardGivesDeadKeysExactZeros) {
  const Capture& keys = captured_lengths();
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64})
    for (const bool shared : {false, true}) {
      expect_gradients(every_pair(keys), extents_of(90, shared), dtype);
      expect_gradients(window(keys), extents_of(90, shared), dtype);
    }
}

TEST(KeyLengths, BackwardSumsCapturedGradientsOfLiveKeysAlone) {
  const Capture& keys = captured_lengths();
  EntryContext context(extents_of(90, false), 94);
  const Capture table = context.normal("table", DType::kF32, {4, 2 * kKeys});
  for (const DType dtype : {DType::kF32, DType::kBF16})
    expect_gradients(diagonals(keys, table), extents_of(90, false), dtype);
}

TEST(KeyLengths, CutListsAndMapsToo) {
  const Capture& keys = captured_lengths();
  const Extents extents = extents_of(140, false);
  const std::vector<std::vector<int>> head = {{0, 3}, {4, 2, 1}, {}};
  const OwnedLists owned = make_lists(extents, 64, {head, head, {{1}, {0}, {4}}, head});
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const CallOptions listed{.scale = {}, .block_lists = &owned.lists};
    const Operands operands = random_operands(extents, dtype, 95);
    const Reference reference = reference_of(every_pair(keys).within, operands.inputs(), listed);
    spoil(operands, kLengths);
    const Tensor lengths = lengths_of(kLengths);
    for (const Target& target : available_targets()) {
      const Results results = results_for(operands.inputs());
      engine_on(target).attention(
          {}, operands.inputs(), results.outputs(),
          {.scale = {}, .block_lists = &owned.lists, .kv_lengths = &lengths.view()});
      EXPECT_EQ(mismatch(results, reference, dtype), "") << target.name();
    }
    expect_gradients(every_pair(keys), extents, dtype, listed);
  }
  const Masks masks = window(keys);
  const MaskMap map = MaskMap::build(masks.alone, {.q_len = 140, .kv_len = kKeys, .q_block = 32});
  const CallOptions mapped{.scale = {}, .mask_map = &map};
  expect_forward(masks, extents, DType::kF32, mapped);
}

TEST(KeyLengths, AFaultBehindALengthIsNone) {
  Tensor table(DType::kF32, {100});
  table.fill([](const Dims& at) { return 0.01 * static_cast<double>(at[0]); });
  const Capture slopes("slopes", table);
  const Program program =
      trace([slopes](Score s, Index, Index, Index, Index kv) { return s + slopes[kv]; });
  TrainingStep step = step_of(random_operands(square(2, 1, 200, 16), DType::kF32, 96), 97);
  const Tensor lengths = lengths_of({100, 37});
  const CallOptions options{.scale = {}, .kv_lengths = &lengths.view()};
  for (const Target& target : available_targets()) {
    EXPECT_NO_THROW(train(engine_on(target), program, step, options)) << target.name();
    EXPECT_EQ(error_of([&] { train(engine_on(target), program, step); }).code(),
              ErrorCode::kIndexOutOfRange)
        << target.name();
  }
}

TEST(KeyLengths, OfTheWrongShapeOrDtypeAreRefused) {
  Engine engine(cpu_options());
  TrainingStep step = step_of(random_operands(square(2, 1, 8, 16), DType::kF32, 98), 99);
  const auto refusal = [&](const TensorView& lengths) {
    return error_of([&] { train(engine, {}, step, {.scale = {}, .kv_lengths = &lengths}); })
        .parts()
        .where;
  };
  const Tensor wide(DType::kI64, {2}), few(DType::kI32, {1});
  const Tensor somewhere = lengths_of({1, 2});
  TensorView nowhere = somewhere.view();
  nowhere.data = nullptr;
  EXPECT_EQ(refusal(wide.view()), "kv_lengths");
  EXPECT_EQ(refusal(few.view()), "kv_lengths");
  EXPECT_EQ(refusal(nowhere), "kv_lengths");
}

}  // namespace
}  // namespace tilewright::cases
