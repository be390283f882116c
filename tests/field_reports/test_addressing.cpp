// T11: 64-bit addressing, very many rows, huge masks.

#include <cstring>

#include "base/element.h"
#include "field_reports/lazy_memory.h"
#include "field_reports/report.h"
#include "tilewright/mask_map.h"

namespace tilewright::cases {
namespace {

TEST(FieldReport, C102KeyStridesPastTwoToThe31) {
  // K and V stored [KV, B, D] with B = 701: the last row of the last batch is past element 2^31.
  // Batches 0, 350 and 700 are enough to see it.
  constexpr std::int64_t kKeys = 24000, kBatch = 701, kDim = 128;
  const LazyMemory memory(static_cast<std::size_t>(kKeys * kBatch * kDim) * 2);
  const TensorView keys{.data = memory.data(),
                        .dtype = DType::kBF16,
                        .shape = {3, 1, kKeys, kDim},
                        .strides = {350 * kDim, kDim, kBatch * kDim, 1},
                        .device = {}};
  Random random(102);
  for_each_index(keys.shape, [&](const Dims& at) {
    if (at[3] < 16) write_real(keys, offset_of(keys, at), random.normal());
  });
  Tensor query(DType::kBF16, {3, 1, 4, kDim});
  query.fill_normal(random);
  expect_meaning_once(Program(), {query.view(), keys, keys});
}

/// Checks query rows `rows` of a [length, length] truth table that fills only those.
void check_table_rows(std::int64_t length, const std::vector<std::int64_t>& rows) {
  const LazyMemory memory(static_cast<std::size_t>(length * length));
  Random random(104);
  for (const std::int64_t row : rows)
    for (std::int64_t j = 0; j < length; ++j)
      static_cast<char*>(memory.data())[row * length + j] = random.chance(0.3) ? 1 : 0;
  const auto count = static_cast<std::int64_t>(rows.size());
  Tensor row_ids(DType::kI64, {count});
  row_ids.fill(
      [&](const Dims& at) { return static_cast<double>(rows[static_cast<std::size_t>(at[0])]); });
  const Capture table("table", contiguous(memory.data(), DType::kBool, {length, length}));
  const Capture row("row", row_ids);
  const Program program =
      trace([&](Index, Index, Index q, Index kv) { return Bool(table[row[q]][kv]); });
  const Extents extents{.query_heads = 1,
                        .kv_heads = 1,
                        .q_len = count,
                        .kv_len = length,
                        .head_dim = 8,
                        .value_dim = 8};
  expect_meaning_once(program, random_operands(extents, DType::kF32, 104).inputs());
}

TEST(FieldReport, C104TableOnBothSidesOfTwoToThe31) {
  for (const std::int64_t length : {46340, 46341})
    check_table_rows(length, {0, length - 64, length - 2, length - 1});
}

TEST(FieldReport, C106TablePastTwoToThe32) { check_table_rows(73728, {58253, 58254, 73727}); }

/// Runs it all, and compares the first and the last entries of one axis.
void check_ends(const Extents& extents, std::size_t axis, std::int64_t ends) {
  const Program program =
      trace([](Index, Index, Index q, Index kv) { return floor_mod(q, 3) >= kv; });
  const Operands operands = random_operands(extents, DType::kF32, 108);
  const Results results = run_on(fastest_target(), program, operands.inputs());
  const std::int64_t extent = operands.query.shape()[axis];
  for (const std::int64_t begin : {std::int64_t{0}, extent - ends}) {
    const auto part = [&](const TensorView& view) {
      return copy_of(slice(view, axis, begin, begin + ends));
    };
    const Tensor q = part(operands.query);
    const bool keys_too = axis < 2;
    const Tensor k = keys_too ? part(operands.key) : operands.key;
    const Tensor v = keys_too ? part(operands.value) : operands.value;
    const Reference reference = reference_of(program, {q.view(), k.view(), v.view()});
    const Results cut{.out = part(results.out), .lse = part(*results.lse), .max_scores = {}};
    EXPECT_EQ(mismatch(cut, reference, DType::kF32), "");
  }
}

TEST(FieldReport, C108MoreBatchesHeadsOrRowsThan65535) {
  check_ends(square(65536, 1, 4, 8), 0, 3);
  check_ends(square(1, 65536, 4, 8), 1, 3);
  Extents rows = square(1, 1, 64 * 65535 + 1, 4);
  rows.kv_len = 3;
  // Ends are whole periods of the mask.
  check_ends(rows, 2, 4);
}

std::size_t map_bytes(const Program& program, std::int64_t length) {
  return MaskMap::build(program, {.q_len = length, .kv_len = length}).bytes();
}

TEST(FieldReport, C110HugeMasksTakeMemoryByTheRow) {
  constexpr std::int64_t kMillion = 1 << 20;
  const Program window =
      trace([](Index, Index, Index q, Index kv) { return (q >= kv) & (q - kv < 4096); });
  Tensor ids(DType::kI32, {kMillion});
  ids.fill([](const Dims& at) { return static_cast<double>(at[0] / 1049); });
  const Capture document("document", ids);
  const Program documents = trace(
      [&](Index, Index, Index q, Index kv) { return Index(document[q]) == Index(document[kv]); });
  constexpr std::size_t kLimit = std::size_t{4} << 20;
  for (const std::int64_t length : {std::int64_t{96000}, kMillion}) {
    EXPECT_LE(map_bytes(causal(), length), kLimit);
    EXPECT_LE(map_bytes(window, length), kLimit);
    EXPECT_LE(map_bytes(documents, length), kLimit);
  }
}

}  // namespace
}  // namespace tilewright::cases
