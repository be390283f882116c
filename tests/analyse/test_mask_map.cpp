#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "analyse/exact_map.h"
#include "analyse/map_programs.h"
#include "ir/interpret.h"
#include "tilewright/error.h"
#include "tilewright/mask_map.h"
#include "tilewright/program.h"

namespace tilewright {
namespace {

std::vector<Span> spans(const MaskMap& map, std::int64_t block) {
  return {map.begin(0, 0, block), map.end(0, 0, block)};
}

TEST(MaskMap, CausalSpansAreTokenExact) {
  const MaskMap map = MaskMap::build(causal(), square(512));
  for (std::int64_t block = 0; block < 4; ++block) {
    const std::int64_t first = block * 128;
    const std::vector<Span> expected = {{.kv_begin = 0, .kv_end = first + 1, .full = true},
                                        {.kv_begin = first + 1, .kv_end = first + 128}};
    EXPECT_EQ(spans(map, block), expected) << block;
  }
  EXPECT_EQ(map.live_pairs(), 512 * 513 / 2);
  EXPECT_EQ(map.blocks_over_budget(), 0);
}

TEST(MaskMap, WindowSpansAreTokenExact) {
  const MaskMap map = MaskMap::build(windowed(300), square(2048));
  // Rows 1024..1151 keep keys from 725 on and up to 1151; all of them keep 852..1024.
  const std::vector<Span> expected = {{.kv_begin = 725, .kv_end = 852},
                                      {.kv_begin = 852, .kv_end = 1025, .full = true},
                                      {.kv_begin = 1025, .kv_end = 1152}};
  EXPECT_EQ(spans(map, 8), expected);
  EXPECT_EQ(map.live_pairs(), 300 * 301 / 2 + (2048 - 300) * 300);
}

TEST(MaskMap, AgreesWithTheMaskPairByPair) {
  expect_exact(causal(), square(200, 32));
  expect_exact(windowed(8), square(130, 16));
  expect_exact(windowed(1), square(130, 64));
  expect_exact(trace([](Index, Index, Index q, Index kv) { return kv < 37 || q >= kv; }),
               square(150, 32));
  expect_exact(
      trace([](Index, Index, Index q, Index kv) { return floor_div(q, 24) == floor_div(kv, 24); }),
      square(250, 32));
  expect_exact(trace([](Index, Index, Index q, Index kv) { return abs(q - kv) <= 9; }),
               square(100, 16));
  expect_exact(trace([](Index, Index, Index q, Index kv) { return abs(q - kv) > 9; }),
               square(100, 16));
  expect_exact(trace([](Index, Index, Index q, Index kv) { return (q + kv) % 3 != 0; }),
               square(100, 16));
  expect_exact(trace([](Index, Index, Index q, Index kv) { return q * 2 < kv; }), square(100, 16));
}

TEST(MaskMap, SeesLogicalPositions) {
  MaskMapOptions options = square(100, 32);
  options.q_base = 1000;
  options.kv_base = 950;
  expect_exact(causal(), options);
  expect_exact(windowed(60), options);
}

TEST(MaskMap, CountsChunksWithLeftContext) {
  // Field report C034.
  const Program program = trace([](Index, Index, Index q, Index kv) {
    const Value chunks = floor_div(q, 24) - floor_div(kv, 24);
    return chunks >= 0 && chunks <= 2;
  });
  expect_exact(program, square(1000, 128));
}

TEST(MaskMap, HoldsOfflineFieldReports) {
  // C003: a window of 8 keys over 130 tokens.
  EXPECT_EQ(MaskMap::build(windowed(8), square(130)).live_pairs(), 1012);
  // C030: window of 1024 and four sinks.
  const Program sinks =
      trace([](Index, Index, Index q, Index kv) { return kv <= q && (q - kv <= 1023 || kv < 4); });
  EXPECT_EQ(MaskMap::build(sinks, square(2048)).live_pairs(), 1577466);
  // C063: floor division and remainder of negative operands.
  const Program floored = trace([](Index, Index, Index q, Index kv) {
    return floor_div(q - 68, 4) == floor_div(kv - 68, 4) &&
           floor_mod(q - 64, 4) != floor_mod(kv - 65, 4);
  });
  EXPECT_EQ(MaskMap::build(floored, square(192)).live_pairs(), 576);
  // C139: clipped neighbourhood of 7 on 33.
  const Program neighbourhood = trace([](Index, Index, Index q, Index kv) {
    const Value start = clamp(q - 3, 0, 33 - 7);
    return start <= kv && kv < start + 7;
  });
  EXPECT_EQ(MaskMap::build(neighbourhood, square(33)).live_pairs(), 231);
}

TEST(MaskMap, RaggedEndsCountTheirValidPairsAlone) {
  // C016: a table with exactly as many entries as there are rows.
  std::vector<std::uint8_t> keep(2046, 1);
  const Capture table("table", contiguous(keep.data(), DType::kBool, {2046}));
  const Program program = trace([&](Index, Index, Index q, Index) { return Bool(table[q]); });
  const MaskMap map = MaskMap::build(program, square(2046));
  EXPECT_EQ(map.count_tiles(128, 128), (TileCounts{.empty = 0, .partial = 0, .full = 16 * 16}));
  EXPECT_EQ(map.live_pairs(), 2046 * 2046);
}

TEST(MaskMap, SparsityIsAPercentageOfPairs) {
  // C032.
  std::vector<std::int32_t> doc(100);
  for (std::size_t i = 0; i < doc.size(); ++i) doc[i] = static_cast<std::int32_t>(i / 30);
  const Capture docs("doc", contiguous(doc.data(), DType::kI32, {100}));
  const Program program =
      trace([&](Index, Index, Index q, Index kv) { return q >= kv && Index(docs[q]) == docs[kv]; });
  const MaskMap map = MaskMap::build(program, square(100));
  EXPECT_GE(map.sparsity_percent(), 0);
  EXPECT_LE(map.sparsity_percent(), 100);
  EXPECT_EQ(map.count_tiles(128, 128), (TileCounts{.empty = 0, .partial = 1, .full = 0}));
  expect_exact(program, square(100, 16));
}

TEST(MaskMap, KeepsOneListWhereBatchAndHeadDoNotMatter) {
  const MaskMap map =
      MaskMap::build(causal(), {.batch = 3, .heads = 4, .q_len = 256, .kv_len = 256});
  EXPECT_EQ(map.begin(2, 3, 1), map.begin(0, 0, 1));
  EXPECT_EQ(map.live_pairs(), 12 * 256 * 257 / 2);
  EXPECT_EQ(map.count_tiles(128, 128), (TileCounts{.empty = 12, .partial = 24, .full = 12}));
}

TEST(MaskMap, DocumentsPerBatchRow) {
  const std::int64_t length = 300;
  std::vector<std::int32_t> doc(2 * 300);
  for (std::size_t i = 0; i < 300; ++i) {
    doc[i] = static_cast<std::int32_t>(i / 70);
    doc[300 + i] = static_cast<std::int32_t>(i / 41) * 3 - 5;
  }
  const Capture docs("doc", contiguous(doc.data(), DType::kI32, {2, 300}));
  const Program program =
      trace([&](Index b, Index, Index q, Index kv) { return Index(docs[b][q]) == docs[b][kv]; });
  expect_exact(program, {.batch = 2, .q_len = length, .kv_len = length, .q_block = 32});
  const Program causal_documents = trace([&](Index b, Index, Index q, Index kv) {
    return q >= kv && Index(docs[b][q]) == docs[b][kv];
  });
  expect_exact(causal_documents, {.batch = 2, .q_len = length, .kv_len = length, .q_block = 32});
  // Unsorted documents have no row intervals and are counted by splitting.
  std::swap(doc[10], doc[200]);
  expect_exact(program, {.batch = 2, .q_len = length, .kv_len = length, .q_block = 32});
}

TEST(MaskMap, AGuardedTableIsNeverReadPastItsEnd) {
  std::vector<std::int32_t> doc = {0, 0, 0, 1, 1, 2, 2, 2, 2, 3};
  const Capture docs("doc", contiguous(doc.data(), DType::kI32, {10}));
  const Program program = trace([&](Index, Index, Index q, Index kv) {
    return q < 10 && kv < 10 && Index(docs[q]) == docs[kv];
  });
  expect_exact(program, square(40, 16));
}

TEST(MaskMap, TheTransposedWalkFindsTheSamePairs) {
  const Program program = windowed(100);
  const MaskMap map = MaskMap::build(program, square(700, 32));
  ir::Interpreter interpreter(program.structure(), program.bindings());
  for (std::int64_t begin = 0; begin < 700; begin += 64) {
    const TokenRange keys{begin, std::min<std::int64_t>(begin + 64, 700)};
    std::vector<char> found(700, 0);
    for (const Span& span : map.query_spans(0, 0, keys))
      for (std::int64_t q = span.kv_begin; q < span.kv_end; ++q)
        found[static_cast<std::size_t>(q)] = span.full ? 2 : 1;
    for (std::int64_t q = 0; q < 700; ++q)
      for (std::int64_t kv = keys.begin; kv < keys.end; ++kv) {
        const bool live = interpreter.mask({0, 0, q, kv});
        ASSERT_FALSE(live && found[static_cast<std::size_t>(q)] == 0) << q << " " << kv;
        ASSERT_FALSE(!live && found[static_cast<std::size_t>(q)] == 2) << q << " " << kv;
      }
  }
}

TEST(MaskMap, AProgramWithoutMaskIsFull) {
  const Program program = trace([](Score s, Index, Index, Index, Index) { return s * 2; });
  const MaskMap map = MaskMap::build(program, square(300));
  EXPECT_EQ(spans(map, 2), (std::vector<Span>{{.kv_begin = 0, .kv_end = 300, .full = true}}));
  EXPECT_EQ(map.live_pairs(), 90000);
  EXPECT_EQ(map.sparsity_percent(), 0);
}

TEST(MaskMap, EmptyProblemsHaveNoSpans) {
  EXPECT_EQ(MaskMap::build(causal(), square(0)).q_blocks(), 0);
  const MaskMap no_keys = MaskMap::build(causal(), {.q_len = 10, .kv_len = 0});
  EXPECT_EQ(no_keys.span_count(), 0);
  EXPECT_EQ(no_keys.live_pairs(), 0);
  EXPECT_EQ(no_keys.sparsity_percent(), 0);
}

TEST(MaskMap, RefusesSizesThatMeanNothing) {
  EXPECT_THROW(MaskMap::build(causal(), square(-1)), Error);
  EXPECT_THROW(MaskMap::build(causal(), square(10, 0)), Error);
  EXPECT_THROW(MaskMap::build(causal(), {.batch = 0, .q_len = 1, .kv_len = 1}), Error);
}

TEST(MaskMap, KeepsItsBudgetOnMasksWithoutStructure) {
  const std::int64_t length = 1 << 16;
  const Program odd = trace([](Index, Index, Index q, Index kv) { return (q + kv) % 2 == 0; });
  const MaskMap partial = MaskMap::build(odd, square(length));
  EXPECT_EQ(spans(partial, 7), (std::vector<Span>{{.kv_begin = 0, .kv_end = length}}));
  // Stripes far narrower than a query block: too many to find within the budget.
  const Program stripes = trace([](Index, Index, Index, Index kv) { return kv % 64 < 32; });
  const MaskMap left_over = MaskMap::build(stripes, square(length));
  EXPECT_GT(left_over.blocks_over_budget(), 0);
  for (const MaskMap& map : {partial, left_over})
    EXPECT_LE(map.evaluations(), 64 * map.q_blocks() + 8 * map.span_count());
}

TEST(MaskMap, AMillionTokensNeedFewEvaluationsAndLittleMemory) {
  // C110.
  const std::int64_t length = 1 << 20;
  for (const Program& program : {causal(), windowed(4096)}) {
    const MaskMap map = MaskMap::build(program, square(length));
    EXPECT_LE(map.evaluations(), 64 * map.q_blocks() + 8 * map.span_count());
    EXPECT_LE(map.evaluations(), 16 * map.q_blocks());
    EXPECT_LE(map.bytes(), std::size_t{4} << 20);
    EXPECT_EQ(map.blocks_over_budget(), 0);
  }
  const TileCounts counts = MaskMap::build(causal(), square(length)).count_tiles(128, 128);
  EXPECT_EQ(counts,
            (TileCounts{.empty = 8192LL * 8191 / 2, .partial = 8192, .full = 8192LL * 8191 / 2}));
}

}  // namespace
}  // namespace tilewright
