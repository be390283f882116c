#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "analyse/map_programs.h"
#include "tilewright/error.h"
#include "tilewright/mask_map.h"
#include "tilewright/program.h"

// What a map serves beside the call that it was made for: parts of the rows, other lengths, other
// batches.
namespace tilewright {
namespace {

TEST(MapReuse, RemembersExactLengths) {
  // C082 and C080.
  const MaskMap map = MaskMap::build(causal(), {.q_len = 20000, .kv_len = 40000, .q_block = 128});
  EXPECT_EQ(map.options().q_len, 20000);
  EXPECT_EQ(map.options().kv_len, 40000);
  EXPECT_NO_THROW(map.require_serves(3, 5, 20000, 40000));
  EXPECT_THROW(map.require_serves(1, 1, 20096, 40192), Error);
  EXPECT_THROW(map.require_serves(1, 1, 1024, 1024), Error);
  EXPECT_THROW(map.require_serves(1, 1, 20000, 1024), Error);
}

/// The same lists, whatever built them.
void expect_same_map(const MaskMap& a, const MaskMap& b) {
  EXPECT_EQ(a.options().q_len, b.options().q_len);
  EXPECT_EQ(a.options().kv_len, b.options().kv_len);
  EXPECT_EQ(a.options().q_base, b.options().q_base);
  ASSERT_EQ(a.q_blocks(), b.q_blocks());
  for (std::int64_t block = 0; block < a.q_blocks(); ++block)
    EXPECT_TRUE(std::equal(a.begin(0, 0, block), a.end(0, 0, block), b.begin(0, 0, block),
                           b.end(0, 0, block)))
        << block;
  EXPECT_EQ(a.live_pairs(), b.live_pairs());
}

TEST(MapReuse, QueryRowsAreAProblemOfTheirOwn) {
  // C025: [:1], [1:3], [-1:] of four blocks of 256; the last one of 1000 rows is shorter.
  for (const std::int64_t q_len : {1024, 1000}) {
    const MaskMapOptions options{.q_len = q_len, .kv_len = 1024, .q_block = 256};
    const MaskMap map = MaskMap::build(causal(), options);
    for (const TokenRange rows :
         {TokenRange{0, 256}, TokenRange{256, 768}, TokenRange{768, q_len}, TokenRange{0, 300}}) {
      MaskMapOptions fresh = options;
      fresh.q_len = rows.size();
      fresh.q_base = rows.begin;
      expect_same_map(map.query_rows(rows), MaskMap::build(causal(), fresh));
    }
    EXPECT_EQ(map.query_rows({768, q_len}).options().q_len, q_len == 1000 ? 232 : 256);
    EXPECT_EQ(map.query_rows({512, 512}).q_blocks(), 0);
    EXPECT_THROW(map.query_rows({0, q_len + 1}), Error);
    EXPECT_THROW(map.query_rows({-256, 0}), Error);
    EXPECT_THROW(map.query_rows({10, 266}), Error);
  }
}

TEST(MapReuse, QueryRowsOfListsKeepTheirLists) {
  const auto lists = MaskMap::build(causal(), square(1024, 256)).to_block_lists(256, 256);
  const MaskMap map = MaskMap::from_block_lists(lists->lists);
  EXPECT_EQ(map.query_rows({256, 512}).covered_pairs(), 2 * 256 * 256);
  EXPECT_THROW(map.query_rows({256, 400}), Error);
  EXPECT_THROW(map.with_lengths(100, 100), Error);
}

TEST(MapReuse, OtherLengthsGiveTheMapOfAFreshMask) {
  // C027: made for 256 x 256, adjusted to (100, 180).
  const MaskMap map = MaskMap::build(causal(), square(256));
  for (const auto& [q_len, kv_len] :
       {std::pair<std::int64_t, std::int64_t>{100, 180}, {256, 256}, {1000, 2000}, {0, 5}}) {
    MaskMapOptions fresh = square(256);
    fresh.q_len = q_len;
    fresh.kv_len = kv_len;
    expect_same_map(map.with_lengths(q_len, kv_len), MaskMap::build(causal(), fresh));
  }
}

TEST(MapReuse, ServesOnlyTheBatchAndHeadsItWasBuiltFor) {
  // C035: 1 or the call's own.
  const Program per_head = trace([](Index, Index h, Index q, Index kv) { return q >= kv + h; });
  const MaskMap map = MaskMap::build(per_head, {.heads = 2, .q_len = 8, .kv_len = 8});
  EXPECT_NO_THROW(map.require_serves(2, 2, 8, 8));
  EXPECT_THROW(map.require_serves(2, 3, 8, 8), Error);
  const MaskMap one = MaskMap::build(per_head, {.heads = 1, .q_len = 8, .kv_len = 8});
  EXPECT_NO_THROW(one.require_serves(2, 1, 8, 8));
  EXPECT_THROW(one.require_serves(2, 2, 8, 8), Error);
}

TEST(MapReuse, RefusesToBroadcastWhatDependsOnBatchOrHead) {
  const Program per_batch = trace([](Index b, Index, Index q, Index kv) { return q >= kv + b; });
  MaskMapOptions options = square(16);
  options.broadcast_batch = true;
  EXPECT_THROW(MaskMap::build(per_batch, options), Error);
  EXPECT_NO_THROW(MaskMap::build(causal(), options));
  options.broadcast_batch = false;
  options.broadcast_heads = true;
  EXPECT_NO_THROW(MaskMap::build(per_batch, options));
}

}  // namespace
}  // namespace tilewright
