#include "backends/cuda/launch/length_launch.h"
#include "backends/cuda/launch/list_launch.h"
#include "backends/cuda/launch/map_launch.h"
#include "backends_cuda/fake_calls.h"
#include "tilewright/device_mask_map.h"
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

TEST_F(FakeSpans, ADeviceMapIsMadeOnTheStreamAndWalkedWhereItLies) {
  Engine engine(options_);
  const Call call(cases::square(1, 2, kLength, 64));
  const DeviceMaskMapOptions sizes{
      .q_len = kLength, .kv_len = kLength, .q_block = 128, .spans_per_block = 4};
  const std::size_t bytes = DeviceMaskMap::bytes_for(cases::causal(), sizes);
  EXPECT_EQ(bytes, 256 + 3 * 16 + 3 * 4 * 16U);
  const cases::Tensor room(DType::kU8, {static_cast<std::int64_t>(bytes) + 256});
  TensorView memory = on_device(room);
  const auto base = (reinterpret_cast<DeviceAddress>(memory.data) + 255) / 256 * 256;
  memory.data = reinterpret_cast<void*>(base);
  const DeviceMaskMap map(cases::causal(), sizes, memory);
  driver_.single_parameter = {{"_build_map", sizeof(params::MaskSpans)}};
  int stream = 0;
  engine.build_mask_map(map, problem_from(call.inputs, call.outputs), &stream);
  engine.attention(cases::causal(), call.inputs, call.outputs,
                   {.scale = {}, .device_map = &map, .stream = &stream});
  ASSERT_EQ(driver_.launches.size(), 2U);
  EXPECT_TRUE(driver_.launches[0].function.ends_with("_build_map"));
  EXPECT_EQ(driver_.launches[0].stream, &stream);
  EXPECT_EQ(driver_.launches[0].grid_x, 1U);
  const auto made = params_of<params::MaskSpans>(0);
  EXPECT_EQ(made.lists_cut, base);
  EXPECT_EQ(made.lists, 3);
  EXPECT_EQ(made.capacity, 4);
  const auto params = params_of<params::ExtendedHopper>(1);
  EXPECT_EQ(params.lists.spans.spans, made.spans);
  EXPECT_EQ(params.lists.spans.ranges, base + 256);
  EXPECT_EQ(engine.stats().compiles, 1) << "the map's kernel comes with the row's";
}

TEST_F(FakeSpans, ADeviceMapBesideListsIsRefusedWhereverTheyComeFrom) {
  Engine engine(options_);
  const Call call(cases::square(1, 2, kLength, 64));
  const Lists lists;
  const DeviceMaskMapOptions sizes{.q_len = kLength, .kv_len = kLength};
  const auto bytes = static_cast<std::int64_t>(DeviceMaskMap::bytes_for(cases::causal(), sizes));
  const cases::Tensor room(DType::kU8, {bytes + 256});
  TensorView memory = on_device(room);
  memory.data =
      reinterpret_cast<void*>((reinterpret_cast<DeviceAddress>(memory.data) + 255) / 256 * 256);
  const DeviceMaskMap map(cases::causal(), sizes, memory);
  const CallOptions both{.scale = {}, .block_lists = &lists.lists, .device_map = &map};
  const CallOptions map_alone{.scale = {}, .device_map = &map};
  const Attention prepared =
      engine.prepare(cases::causal(), problem_from(call.inputs, call.outputs), lists.lists);
  const auto where = [](auto&& run) { return cases::error_of(run).parts().where; };
  EXPECT_EQ(where([&] { engine.attention(cases::causal(), call.inputs, call.outputs, both); }),
            "device_map");
  EXPECT_EQ(where([&] { prepared.forward(call.inputs, call.outputs, map_alone); }), "device_map");
  EXPECT_TRUE(driver_.launches.empty());
}

TEST_F(FakeSpans, ADeviceMapNeedsAMaskAndItsMemory) {
  const DeviceMaskMapOptions sizes{.q_len = kLength, .kv_len = kLength};
  const cases::Tensor few(DType::kU8, {300});
  const auto refusal = [&](const Program& program, const TensorView& memory) {
    return cases::error_of([&] { DeviceMaskMap(program, sizes, memory); }).parts().where;
  };
  EXPECT_EQ(refusal(Program(), on_device(few)), "program");
  EXPECT_EQ(refusal(cases::causal(), few.view()), "memory");
  EXPECT_EQ(refusal(cases::causal(), on_device(few)), "memory");
}

TEST_F(FakeSpans, KeyLengthsTravelAsAnAddressAndMakeTensorMapsOnTheDevice) {
  driver_.single_parameter = {{"_length_maps", sizeof(params::LengthMaps)}};
  Engine engine(options_);
  const Call call(cases::square(2, 2, kLength, 64));
  const cases::Tensor table(DType::kI32, {2});
  const TensorView lengths = on_device(table);
  const CallReport report =
      engine.attention(Program(), call.inputs, call.outputs, {.scale = {}, .kv_lengths = &lengths});
  EXPECT_TRUE(report.kernel.ends_with("_lengths")) << report.kernel;
  EXPECT_FALSE(report.slow_path);
  ASSERT_EQ(driver_.launches.size(), 2U);
  EXPECT_EQ(driver_.launches[0].grid_x, 2U);
  const auto made = params_of<params::LengthMaps>(0);
  EXPECT_EQ(made.lengths.of_batch, reinterpret_cast<DeviceAddress>(lengths.data));
  EXPECT_EQ(made.lengths.stride, 1);
  EXPECT_EQ(made.kv_rows, kLength);
  const auto params = params_of<params::ExtendedHopper>(1);
  EXPECT_EQ(params.value_maps, made.maps);
  EXPECT_EQ(params.lengths.of_batch, made.lengths.of_batch);
  const Error error = cases::error_of([&] {
    engine.attention(Program(), call.inputs, call.outputs,
                     {.scale = {}, .kv_lengths = &table.view()});
  });
  EXPECT_EQ(error.parts().where, "kv_lengths") << "in memory of the host";
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
