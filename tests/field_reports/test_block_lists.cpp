// T03: block lists.

#include "field_reports/block_list_tensors.h"
#include "field_reports/report.h"

namespace tilewright::cases {
namespace {

TEST(FieldReport, C023ListsAreAuthoritativeWithoutAMask) {
  const Extents extents = square(1, 2, 1024, 16);
  const std::vector<std::vector<int>> head = {{0, 2}, {1, 3}, {0, 3}, {2, 3}};
  const OwnedLists owned = make_lists(extents, 256, {head, head});
  const CallOptions options{.scale = {}, .block_lists = &owned.lists};
  Operands operands = random_operands(extents, DType::kF32, 23);
  const Results listed = expect_meaning(Program(), operands.inputs(), options);
  // The same set as a mask.
  const Program mask = trace([](Index, Index, Index q, Index kv) {
    const Index i = q / 256;
    const Index j = kv / 256;
    return ((i == 0) & ((j == 0) | (j == 2))) | ((i == 1) & ((j == 1) | (j == 3))) |
           ((i == 2) & ((j == 0) | (j == 3))) | ((i == 3) & ((j == 2) | (j == 3)));
  });
  EXPECT_EQ(live_pairs(mask, extents), 1048576);
  EXPECT_EQ(mismatch(listed, reference_of(mask, operands.inputs()), DType::kF32), "");
  // Query block 0 does not list key blocks 1 and 3.
  for (const std::int64_t j : {256, 300, 511, 768, 1023})
    for (std::int64_t d = 0; d < 16; ++d) {
      operands.key.set({0, 1, j, d}, 1e4);
      operands.value.set({0, 1, j, d}, 1e4);
    }
  const Results changed = run_on(fastest_target(), Program(), operands.inputs(), options);
  for (std::int64_t i = 0; i < 256; ++i)
    for (std::int64_t d = 0; d < 16; ++d)
      EXPECT_EQ(changed.out.at({0, 1, i, d}), listed.out.at({0, 1, i, d}));
}

TEST(FieldReport, UnsortedAndRepeatedListsAreSets) {
  const Extents extents = square(1, 1, 200, 16);
  const OwnedLists owned = make_lists(extents, 64, {{{3, 0, 3}, {1}, {}, {2, 1, 0, 2, 2, 3}}});
  const CallOptions options{.scale = {}, .block_lists = &owned.lists};
  const Operands operands = random_operands(extents, DType::kF32, 24);
  expect_meaning(Program(), operands.inputs(), options);
  expect_meaning(causal(), operands.inputs(), options);
}

TEST(FieldReport, FullTilesSkipTheMaskAndWinOverPartialOnes) {
  const Extents extents = square(1, 1, 130, 16);
  OwnedLists owned = make_lists(extents, 64, {{{0, 1}, {0, 1}, {0, 2}}});
  const OwnedLists full = make_lists(extents, 64, {{{1}, {1}, {}}});
  owned.lists.full_kv_num_blocks = full.counts.view();
  owned.lists.full_kv_indices = full.indices.view();
  const CallOptions options{.scale = {}, .block_lists = &owned.lists};
  expect_meaning(causal(), random_operands(extents, DType::kF32, 25).inputs(), options);
}

TEST(FieldReport, C030WindowWithSinkTokens) {
  const Program program = trace(
      [](Index, Index, Index q, Index kv) { return (kv <= q) & ((q - kv <= 1023) | (kv < 4)); });
  const Extents one{.query_heads = 1,
                    .kv_heads = 1,
                    .q_len = 2048,
                    .kv_len = 2048,
                    .head_dim = 128,
                    .value_dim = 128};
  EXPECT_EQ(live_pairs(program, one), 1577466);
  Extents grouped = one;
  grouped.query_heads = 4;
  expect_meaning(program, random_operands(grouped, DType::kF32, 30).inputs());
}

TEST(FieldReport, C031BlockDiffusionAtEveryBlockSize) {
  constexpr int kHalf = 100;
  const Program program = trace([](Index, Index, Index q, Index kv) {
    const Bool q_clean = q >= kHalf;
    const Bool kv_clean = kv >= kHalf;
    const Index q_block = select(q_clean, q - kHalf, q) / 10;
    const Index kv_block = select(kv_clean, kv - kHalf, kv) / 10;
    return ((q_block == kv_block) & (q_clean == kv_clean)) |
           (~q_clean & kv_clean & (kv_block < q_block)) |
           (q_clean & kv_clean & (kv_block <= q_block));
  });
  const Extents extents = square(1, 2, 2 * kHalf, 32);
  const Operands operands = random_operands(extents, DType::kF32, 31);
  const Results plain = expect_meaning(program, operands.inputs());
  for (const BlockSize block :
       {BlockSize(16), BlockSize(32), BlockSize(64), BlockSize(128), {32, 128}, {128, 32}}) {
    const auto blocks = [](std::int64_t tokens) {
      return static_cast<int>((2 * kHalf + tokens - 1) / tokens);
    };
    std::vector<int> all;
    for (int j = 0; j < blocks(block.kv); ++j) all.push_back(j);
    const auto rows = static_cast<std::size_t>(blocks(block.q));
    const OwnedLists owned = make_lists(extents, block, {std::vector<std::vector<int>>(rows, all)});
    const CallOptions options{.scale = {}, .block_lists = &owned.lists};
    expect_meaning(program, operands.inputs(), options);
  }
}

TEST(FieldReport, C033IndexListsWithoutASpareSlot) {
  const Extents extents{.query_heads = 1,
                        .kv_heads = 1,
                        .q_len = 1024,
                        .kv_len = 1024,
                        .head_dim = 16,
                        .value_dim = 16};
  std::vector<int> all;
  for (int j = 0; j < 8; ++j) all.push_back(j);
  const OwnedLists owned = make_lists(extents, 128, {std::vector<std::vector<int>>(8, all)});
  const CallOptions options{.scale = {}, .block_lists = &owned.lists};
  expect_meaning(causal(), random_operands(extents, DType::kF32, 33).inputs(), options);
}

TEST(FieldReport, C034ChunksWithLeftContext) {
  for (const int chunk : {24, 7, 100}) {
    const Number size("chunk", chunk);
    const Program program = trace([&](Index, Index, Index q, Index kv) {
      const Index distance = floor_div(q, size) - floor_div(kv, size);
      return (distance >= 0) & (distance <= 2);
    });
    expect_meaning(program, random_operands(square(1, 4, 1000, 16), DType::kF32, 34).inputs());
  }
}

TEST(FieldReport, C035ListBatchAndHeadsMustBeOneOrTheQuerys) {
  const Extents extents = square(2, 2, 8, 16);
  const Operands operands = random_operands(extents, DType::kF32, 35);
  for (const std::int64_t batch : {1, 2, 3})
    for (const std::int64_t heads : {1, 2, 3}) {
      Tensor counts(DType::kI32, {batch, heads, 1});
      Tensor indices(DType::kI32, {batch, heads, 1, 1});
      counts.fill(1.0);
      indices.fill(0.0);
      const BlockLists lists{.q_len = 8,
                             .kv_len = 8,
                             .q_block = 128,
                             .kv_block = 128,
                             .kv_num_blocks = counts.view(),
                             .kv_indices = indices.view(),
                             .full_kv_num_blocks = {},
                             .full_kv_indices = {}};
      const CallOptions options{.scale = {}, .block_lists = &lists};
      if (batch <= 2 && heads <= 2)
        expect_meaning(causal(), operands.inputs(), options);
      else
        expect_error(causal(), operands.inputs(), ErrorCode::kInvalidArgument, {"2", "3"}, options);
    }
}

TEST(FieldReport, C080ListsForOtherLengthsAreRefused) {
  for (const auto& [q_len, kv_len] :
       {std::pair{8192, 8192}, std::pair{512, 512}, std::pair{512, 1024}, std::pair{1024, 512}}) {
    Extents listed = square(1, 1, q_len, 8);
    listed.kv_len = kv_len;
    const auto q_blocks = static_cast<std::size_t>((q_len + 255) / 256);
    const OwnedLists owned =
        make_lists(listed, 256, {std::vector<std::vector<int>>(q_blocks, std::vector<int>{0, 1})});
    const CallOptions options{.scale = {}, .block_lists = &owned.lists};
    const Operands operands = random_operands(square(1, 1, 1024, 8), DType::kF32, 80);
    expect_error(causal(), operands.inputs(), ErrorCode::kInvalidArgument,
                 {"1024", std::to_string(q_len)}, options);
  }
}

TEST(FieldReport, C140ListsThatReachPastTheKeysAreRefused) {
  const Extents extents = square(1, 1, 200, 8);
  const Operands operands = random_operands(extents, DType::kF32, 140);
  const OwnedLists beyond = make_lists(extents, 64, {{{0}, {1}, {4}, {2}}});
  const CallOptions past_keys{.scale = {}, .block_lists = &beyond.lists};
  expect_error(Program(), operands.inputs(), ErrorCode::kInvalidArgument, {"4"}, past_keys);
  const OwnedLists few_rows = make_lists(extents, 64, {{{0}, {1}, {2}}});
  const CallOptions short_rows{.scale = {}, .block_lists = &few_rows.lists};
  expect_error(Program(), operands.inputs(), ErrorCode::kInvalidArgument, {}, short_rows);
  OwnedLists many = make_lists(extents, 64, {{{0}, {1}, {2}, {3}}});
  many.counts.set({0, 0, 1}, 2);
  const CallOptions past_slots{.scale = {}, .block_lists = &many.lists};
  expect_error(Program(), operands.inputs(), ErrorCode::kInvalidArgument, {"2"}, past_slots);
  OwnedLists negative = make_lists(extents, 64, {{{0}, {1}, {-1}, {3}}});
  const CallOptions below{.scale = {}, .block_lists = &negative.lists};
  expect_error(Program(), operands.inputs(), ErrorCode::kInvalidArgument, {"-1"}, below);
}

}  // namespace
}  // namespace tilewright::cases
