#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "analyse/exact_map.h"
#include "tilewright/error.h"
#include "tilewright/mask_map.h"
#include "tilewright/program.h"

namespace tilewright {
namespace {

constexpr std::int32_t kGarbage = 0x7ffffff1;

/// Lists of `rows` rows with room for `room` tiles each; entries past a count are garbage.
struct Lists {
  Lists(const std::vector<std::vector<std::int32_t>>& partial,
        const std::vector<std::vector<std::int32_t>>& full, std::int64_t room)
      : rows(static_cast<std::int64_t>(partial.size())) {
    fill(partial, room, counts, indices);
    fill(full, room, full_counts, full_indices);
  }

  BlockLists view(std::int64_t q_len, std::int64_t kv_len, std::int64_t block) {
    const Dims shape{1, 1, rows};
    const Dims wide{1, 1, rows, static_cast<std::int64_t>(indices.size()) / rows};
    return {.q_len = q_len,
            .kv_len = kv_len,
            .q_block = block,
            .kv_block = block,
            .kv_num_blocks = contiguous(counts.data(), DType::kI32, shape),
            .kv_indices = contiguous(indices.data(), DType::kI32, wide),
            .full_kv_num_blocks = contiguous(full_counts.data(), DType::kI32, shape),
            .full_kv_indices = contiguous(full_indices.data(), DType::kI32, wide)};
  }

  static void fill(const std::vector<std::vector<std::int32_t>>& rows, std::int64_t room,
                   std::vector<std::int32_t>& counts, std::vector<std::int32_t>& indices) {
    for (const auto& row : rows) {
      counts.push_back(static_cast<std::int32_t>(row.size()));
      std::vector<std::int32_t> padded = row;
      padded.resize(static_cast<std::size_t>(room), kGarbage);
      indices.insert(indices.end(), padded.begin(), padded.end());
    }
  }

  std::int64_t rows;
  std::vector<std::int32_t> counts, indices, full_counts, full_indices;
};

std::vector<Span> spans(const MaskMap& map, std::int64_t block) {
  return {map.begin(0, 0, block), map.end(0, 0, block)};
}

TEST(BlockLists, AreAuthoritativeWithoutAMask) {
  // C023: per query block [0, 2], [1, 3], [0, 3], [2, 3] of blocks of 256, two heads.
  Lists lists({{0, 2}, {1, 3}, {0, 3}, {2, 3}}, {{}, {}, {}, {}}, 2);
  const MaskMap map = MaskMap::from_block_lists(lists.view(1024, 1024, 256));
  EXPECT_EQ(map.live_pairs() * 2, 1048576);
  EXPECT_EQ(spans(map, 0),
            (std::vector<Span>{{.kv_begin = 0, .kv_end = 256}, {.kv_begin = 512, .kv_end = 768}}));
}

TEST(BlockLists, AreSetsAndFullWins) {
  Lists lists({{3, 1, 3, 1}, {2}}, {{1}, {2, 2, 0}}, 4);
  const MaskMap map = MaskMap::from_block_lists(lists.view(200, 400, 100));
  EXPECT_EQ(spans(map, 0), (std::vector<Span>{{.kv_begin = 100, .kv_end = 200, .full = true},
                                              {.kv_begin = 300, .kv_end = 400}}));
  EXPECT_EQ(spans(map, 1), (std::vector<Span>{{.kv_begin = 0, .kv_end = 100, .full = true},
                                              {.kv_begin = 200, .kv_end = 300, .full = true}}));
}

TEST(BlockLists, NothingIsReadPastACountOrAnArray) {
  // C033: the index array is exactly full; with AddressSanitizer a read past it fails.
  Lists lists({{0, 1, 2, 3}}, {{}}, 4);
  EXPECT_EQ(MaskMap::from_block_lists(lists.view(64, 256, 64)).live_pairs(), 64 * 256);
  // A count of 0 beside garbage entries.
  Lists empty({{}}, {{}}, 7);
  EXPECT_EQ(MaskMap::from_block_lists(empty.view(64, 256, 64)).span_count(), 0);
}

TEST(BlockLists, RaggedTilesEndWithTheKeys) {
  Lists lists({{1}}, {{0}}, 2);
  const MaskMap map = MaskMap::from_block_lists(lists.view(50, 77, 64));
  EXPECT_EQ(map.live_pairs(), 50 * 77);
  EXPECT_EQ(spans(map, 0).back(), (Span{.kv_begin = 64, .kv_end = 77}));
}

TEST(BlockLists, RefusesWhatTheyCannotMean) {
  const auto throws = [](BlockLists lists) {
    EXPECT_THROW(MaskMap::from_block_lists(lists), Error);
  };
  Lists good({{0, 1}}, {{}}, 2);
  const BlockLists view = good.view(64, 128, 64);
  EXPECT_NO_THROW(MaskMap::from_block_lists(view));
  Lists beyond({{0, 2}}, {{}}, 2);
  throws(beyond.view(64, 128, 64));
  Lists negative({{0, -1}}, {{}}, 2);
  throws(negative.view(64, 128, 64));
  Lists many({{0, 1}}, {{}}, 2);
  many.counts[0] = 3;
  throws(many.view(64, 128, 64));
  many.counts[0] = -1;
  throws(many.view(64, 128, 64));
  throws(good.view(65, 128, 64));
  throws(good.view(64, 128, 0));
  BlockLists one_array = view;
  one_array.full_kv_indices.reset();
  throws(one_array);
  BlockLists floats = view;
  floats.kv_indices.dtype = DType::kF32;
  throws(floats);
  BlockLists rank = view;
  rank.kv_num_blocks.shape = {1, 1};
  throws(rank);
  BlockLists null = view;
  null.kv_indices.data = nullptr;
  throws(null);
}

Program windowed() {
  return trace([](Index, Index, Index q, Index kv) { return q >= kv && q - kv < 90; });
}

TEST(BlockLists, SurviveTheWayThereAndBack) {
  const Program program = windowed();
  const MaskMap map = MaskMap::build(program, {.q_len = 500, .kv_len = 430, .q_block = 64});
  for (const std::int64_t q_block : {16, 32, 64, 128, 500})
    for (const std::int64_t kv_block : {16, 48, 128}) {
      const auto lists = map.to_block_lists(q_block, kv_block);
      const MaskMap again = MaskMap::from_block_lists(
          lists->lists, program, {.q_len = 500, .kv_len = 430, .q_block = q_block});
      expect_holds(again, program);
      EXPECT_EQ(again.count_tiles(q_block, kv_block), map.count_tiles(q_block, kv_block));
    }
}

TEST(BlockLists, ListsAndMaskTogetherKeepTheirIntersection) {
  // The list leaves out key block 0, which the causal mask would keep.
  const Program causal = trace([](Index, Index, Index q, Index kv) { return q >= kv; });
  Lists lists({{}, {1}}, {{}, {}}, 2);
  const MaskMap map =
      MaskMap::from_block_lists(lists.view(128, 128, 64), causal, {.q_len = 128, .kv_len = 128});
  EXPECT_EQ(map.live_pairs(), 64 * 65 / 2);
  EXPECT_EQ(map.tile_class(0, 0, {64, 128}, {0, 64}), TileClass::kEmpty);
  EXPECT_EQ(map.tile_class(0, 0, {64, 128}, {64, 128}), TileClass::kPartial);
}

TEST(BlockLists, ExpandedListsServeEveryHead) {
  Lists lists({{0}, {1}}, {{}, {}}, 1);
  BlockLists view = lists.view(128, 128, 64);
  for (TensorView* tensor :
       {&view.kv_num_blocks, &view.kv_indices, &*view.full_kv_num_blocks, &*view.full_kv_indices}) {
    tensor->shape[1] = 3;
    tensor->strides[1] = 0;
  }
  const MaskMap map = MaskMap::from_block_lists(view);
  EXPECT_EQ(map.options().heads, 3);
  EXPECT_EQ(map.live_pairs(), 3 * 2 * 64 * 64);
  EXPECT_NO_THROW(map.require_serves(5, 3, 128, 128));
  EXPECT_THROW(map.require_serves(5, 2, 128, 128), Error);
}

}  // namespace
}  // namespace tilewright
