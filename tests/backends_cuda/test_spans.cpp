#include "backends/cuda/launch/list_launch.h"
#include "backends_cuda/fake_calls.h"
#include "tilewright/mask_map.h"

// Calls that bring block lists or a mask map, seen by a fake driver.
namespace tilewright::cuda {
namespace {

constexpr std::int64_t kLength = 300;

/// Lists of one key block a query block, on the fake device.
struct Lists {
  explicit Lists(std::int64_t q_block = 96) : q_blocks((kLength + q_block - 1) / q_block) {
    lists.q_len = lists.kv_len = kLength;
    lists.q_block = q_block;
    lists.kv_block = 64;
    lists.kv_num_blocks = on_device(counts);
    lists.kv_indices = on_device(indices);
  }
  std::int64_t q_blocks;
  cases::Tensor counts{DType::kI32, {1, 1, q_blocks}};
  cases::Tensor indices{DType::kI32, {1, 1, q_blocks, 3}};
  BlockLists lists;
};

class FakeSpans : public FakeLaunch {
 protected:
  FakeSpans() { driver_.params_bytes = sizeof(params::ExtendedHopper); }
};

TEST_F(FakeSpans, BlockListsBecomeSpansOnTheStreamAndARowWalksThem) {
  Engine engine(options_);
  const Call call(cases::square(2, 4, kLength, 128));
  const Lists lists;
  driver_.single_parameter = {{"_build_spans", sizeof(params::Lists)}};
  const CallReport report = engine.attention(Program(), call.inputs, call.outputs,
                                             {.scale = {}, .block_lists = &lists.lists});
  EXPECT_TRUE(report.kernel.starts_with("cuda/hopper")) << report.kernel;
  EXPECT_TRUE(report.kernel.ends_with("_lists")) << report.kernel;
  EXPECT_FALSE(report.slow_path);
  EXPECT_NE(report.path.find("block lists"), std::string::npos) << report.path;
  ASSERT_EQ(driver_.launches.size(), 2U);
  EXPECT_TRUE(driver_.launches[0].function.ends_with("_build_spans"));
  EXPECT_EQ(driver_.launches[0].grid_x, 4U);
  const auto built = params_of<params::Lists>(0);
  EXPECT_EQ(built.partial.counts, reinterpret_cast<DeviceAddress>(lists.lists.kv_num_blocks.data));
  EXPECT_EQ(built.full.counts, 0U);
  EXPECT_EQ(built.capacity, 3);
  EXPECT_EQ(built.kv_blocks, 5);

  const auto params = params_of<params::ExtendedHopper>(1);
  EXPECT_EQ(params.lists.spans.spans, built.spans);
  EXPECT_EQ(params.lists.spans.ranges, built.ranges);
  EXPECT_EQ(params.lists.spans.q_block_rows, 96);
  EXPECT_EQ(params.lists.spans.heads, 1);
  EXPECT_EQ(params.lists.query_rows, kLength);
  // Items end where a block of rows does: 96 rows as one tile of 96, and a last one of 12.
  EXPECT_EQ(params.lists.block_tiles, 1);
  EXPECT_EQ(params.lists.item_rows, 96);
  EXPECT_EQ(params.forward.schedule.q_tiles, 4);
  EXPECT_EQ(params.forward.schedule.items, 2 * 4 * 4);
  EXPECT_EQ(driver_.pool_allocations, driver_.pool_deallocations);
}

TEST_F(FakeSpans, WhatTheHopperRowsDoNotServeIsWalkedByThePortableFamily) {
  driver_.params_bytes = sizeof(params::Portable);
  Engine engine(options_);
  const Call call(cases::square(2, 4, kLength, 128), DType::kF32);
  const Lists lists;
  const CallReport report = engine.attention(Program(), call.inputs, call.outputs,
                                             {.scale = {}, .block_lists = &lists.lists});
  EXPECT_TRUE(report.kernel.starts_with("cuda/portable")) << report.kernel;
  EXPECT_TRUE(report.kernel.ends_with("_lists")) << report.kernel;
  EXPECT_TRUE(report.slow_path);
  const auto params = params_of<params::Portable>(1);
  EXPECT_EQ(params.lists.q_block_rows, 96);
  EXPECT_EQ(params.schedule.block_tiles, 2);
  EXPECT_EQ(params.schedule.item_rows, 48);
  EXPECT_EQ(params.schedule.q_tiles, 7);
}

TEST_F(FakeSpans, RowsOfABlockAreCutEvenly) {
  Engine engine(options_);
  const Call call(cases::square(1, 1, kLength, 128));
  const Lists lists(250);
  engine.attention(Program(), call.inputs, call.outputs,
                   {.scale = {}, .block_lists = &lists.lists});
  const auto params = params_of<params::ExtendedHopper>(1);
  EXPECT_EQ(params.lists.block_tiles, 2);
  EXPECT_EQ(params.lists.item_rows, 128);
  EXPECT_EQ(params.forward.schedule.q_tiles, 3)
      << "two of the first block, one for its 50 other rows";
}

TEST_F(FakeSpans, RequireFastRefusesListsWhereOnlyASlowerRowWalksThem) {
  options_.require_fast = true;
  Engine engine(options_);
  const Call call(cases::square(1, 1, kLength, 128), DType::kF32);
  const Lists lists;
  const Error error = cases::error_of([&] {
    engine.attention(Program(), call.inputs, call.outputs,
                     {.scale = {}, .block_lists = &lists.lists});
  });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_NE(error.parts().got.find("not f32"), std::string::npos) << error.what();
}

TEST_F(FakeSpans, ListsOfTheWrongShapeOrDeviceAreRefused) {
  Engine engine(options_);
  const Call call(cases::square(1, 1, kLength, 128));
  Lists lists;
  const auto refusal = [&] {
    return cases::error_of([&] {
      engine.attention(Program(), call.inputs, call.outputs,
                       {.scale = {}, .block_lists = &lists.lists});
    });
  };
  lists.lists.q_block = 100;
  EXPECT_EQ(refusal().parts().where, "kv_num_blocks");
  lists.lists.q_block = 96;
  lists.lists.kv_indices.device.ordinal = 1;
  EXPECT_EQ(refusal().parts().where, "kv_indices");
  EXPECT_TRUE(driver_.launches.empty());
}

/// What the uploads of a call leave in device memory.
std::vector<std::uint32_t> uploaded(const fake::FakeDriver& driver) {
  std::vector<std::uint32_t> words;
  for (const fake::FakeLaunch& launch : driver.launches) {
    if (launch.function.find("_upload_") == std::string::npos) continue;
    const auto* const from = reinterpret_cast<const std::uint32_t*>(launch.params.data());
    words.insert(words.end(), from + 4, from + 4 + from[2]);
  }
  return words;
}

TEST_F(FakeSpans, AMaskMapTravelsAsKernelParameters) {
  Engine engine(options_);
  const Call call(cases::square(1, 2, kLength, 64));
  const MaskMap map =
      MaskMap::build(cases::causal(), {.q_len = kLength, .kv_len = kLength, .q_block = 128});
  driver_.single_parameter = {{"_upload_small", sizeof(params::SmallChunk)}};
  const CallReport report =
      engine.attention(cases::causal(), call.inputs, call.outputs, {.scale = {}, .mask_map = &map});
  EXPECT_TRUE(report.kernel.ends_with("_lists")) << report.kernel;
  ASSERT_EQ(driver_.launches.size(), 2U);
  const std::vector<std::uint32_t> words = uploaded(driver_);
  const auto spans = static_cast<std::size_t>(map.span_count());
  ASSERT_EQ(words.size(), 3 * 4 + 4 * spans);
  const Span* const first = map.begin(0, 0, 0);
  EXPECT_EQ(words[2], static_cast<std::uint32_t>(map.end(0, 0, 0) - first));
  EXPECT_EQ(words[12], static_cast<std::uint32_t>(first->kv_begin));
  EXPECT_EQ(words[13], static_cast<std::uint32_t>(first->kv_end));
  EXPECT_EQ(words[14], first->full ? 1U : 0U);
  const auto params = params_of<params::ExtendedHopper>(1);
  EXPECT_EQ(params.lists.spans.spans, params.lists.spans.ranges + 3 * 16);
}

TEST_F(FakeSpans, ALongMapTravelsInLargePieces) {
  Engine engine(options_);
  const cases::Extents extents = cases::square(1, 1, 64 * 1024, 64);
  const Call call(extents);
  const MaskMap map = MaskMap::build(
      cases::causal(), {.q_len = extents.q_len, .kv_len = extents.kv_len, .q_block = 64});
  driver_.single_parameter = {{"_upload_large", sizeof(params::LargeChunk)}};
  engine.attention(cases::causal(), call.inputs, call.outputs, {.scale = {}, .mask_map = &map});
  const std::vector<std::uint32_t> words = uploaded(driver_);
  EXPECT_EQ(words.size(), 4 * (1024 + static_cast<std::size_t>(map.span_count())));
  EXPECT_EQ(driver_.launches.size(),
            1 + (words.size() + params::kLargeChunkWords - 1) / params::kLargeChunkWords);
  EXPECT_EQ(words.back(), 0U);
  EXPECT_EQ(words[words.size() - 3], 64U * 1024U);
}

}  // namespace
}  // namespace tilewright::cuda
