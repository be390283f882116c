#include "backends/cuda/launch/length_launch.h"
#include "backends/cuda/launch/list_launch.h"
#include "backends_cuda/fake_backward.h"

// Block lists and key lengths of a backward call, seen by a fake driver.
namespace tilewright::cuda {
namespace {

/// Lists of a square call of 300 tokens, of key blocks of 64.
struct Lists300 {
  explicit Lists300(std::int64_t q_block)
      : counts(DType::kI32, {1, 1, (300 + q_block - 1) / q_block}),
        indices(DType::kI32, {1, 1, counts.shape()[2], 3}) {
    lists.q_len = lists.kv_len = 300;
    lists.q_block = q_block;
    lists.kv_block = 64;
    lists.kv_num_blocks = on_device(counts);
    lists.kv_indices = on_device(indices);
  }
  cases::Tensor counts, indices;
  BlockLists lists;
};

TEST_F(FakeBackward, BlockListsAreWalkedByTheHopperFamily) {
  driver_.params_bytes = sizeof(params::ExtendedHopperBackward);
  driver_.single_parameter.emplace_back("_build_spans", sizeof(params::Lists));
  options_.require_fast = true;
  Engine engine(options_);
  const TrainingCall call(cases::square(2, 4, 300, 128));
  const Lists300 owned(96);
  const CallReport report = engine.attention_backward(Program(), call.inputs, call.outputs,
                                                      {.scale = {}, .block_lists = &owned.lists});
  EXPECT_EQ(report.kernel, "cuda/hopper_backward_m64_s22_lists");
  EXPECT_FALSE(report.slow_path);
  EXPECT_TRUE(driver_.launches.at(0).function.ends_with("_build_spans"));
  const auto prepare = params_of<params::BackwardPrepare>(1);
  EXPECT_EQ(prepare.cut.tile_rows, 48) << "tiles lie in one block of 96 rows";
  EXPECT_EQ(prepare.cut.block_tiles, 2);
  EXPECT_EQ(prepare.q_tiles, 7);
  EXPECT_NE(prepare.d_out_copy, 0U) << "a row may see nothing";
  const auto params = params_of<params::ExtendedHopperBackward>(2);
  EXPECT_EQ(params.lists.ranges, params_of<params::Lists>(0).ranges);
  EXPECT_EQ(params.lists.q_block_rows, 96);
  EXPECT_EQ(params.lengths.of_batch, 0U);
  EXPECT_EQ(params.cut.tile_rows, 48);
  EXPECT_EQ(params.backward.q_tiles, 7);
  EXPECT_EQ(params_of<params::GradientFinish>(3).cut.block_rows, 96);
}

TEST_F(FakeBackward, ABlockOfAPrimeNumberOfRowsIsCutIntoEvenTiles) {
  driver_.params_bytes = sizeof(params::PortableBackward);
  driver_.single_parameter.emplace_back("_build_spans", sizeof(params::Lists));
  Engine engine(options_);
  TrainingCall call(cases::square(2, 4, 300, 128));
  call.inputs.query.strides[3] = 2;
  const Lists300 owned(131);
  const CallReport report = engine.attention_backward(Program(), call.inputs, call.outputs,
                                                      {.scale = {}, .block_lists = &owned.lists});
  EXPECT_TRUE(report.kernel.starts_with("cuda/portable_backward")) << report.kernel;
  EXPECT_TRUE(report.kernel.ends_with("_lists")) << report.kernel;
  const auto params = params_of<params::PortableBackward>(2);
  EXPECT_EQ(params.cut.tile_rows, 44) << "131 rows in three tiles";
  EXPECT_EQ(params.cut.block_tiles, 3);
  EXPECT_EQ(params.cut.block_rows, 131);
  EXPECT_EQ(params.q_tiles, 3 + 3 + 1);
}

TEST_F(FakeBackward, KeyLengthsTravelAsAnAddressAndMakeTensorMapsOnTheDevice) {
  driver_.params_bytes = sizeof(params::ExtendedHopperBackward);
  driver_.single_parameter.emplace_back("_length_maps", sizeof(params::LengthMaps));
  options_.require_fast = true;
  Engine engine(options_);
  cases::Extents extents = cases::square(3, 4, 300, 128);
  const cases::Tensor table(DType::kI32, {3});
  const TensorView lengths = on_device(table);
  for (const std::int64_t kv_batch : {3, 1}) {
    driver_.launches.clear();
    extents.kv_batch = kv_batch;
    const TrainingCall call(extents);
    const CallReport report = engine.attention_backward(Program(), call.inputs, call.outputs,
                                                        {.scale = {}, .kv_lengths = &lengths});
    EXPECT_EQ(report.kernel, "cuda/hopper_backward_m64_s22_lengths");
    EXPECT_NE(params_of<params::BackwardPrepare>(0).d_out_copy, 0U) << "an entry may have no key";
    EXPECT_EQ(driver_.launches[1].grid_x, static_cast<unsigned>(kv_batch));
    const auto maps = params_of<params::LengthMaps>(1);
    EXPECT_EQ(maps.lengths.of_batch, reinterpret_cast<DeviceAddress>(lengths.data));
    EXPECT_EQ(maps.kv_rows, 300);
    EXPECT_EQ(maps.sharing, 3 / kv_batch) << "the longest of those that share keys";
    const auto params = params_of<params::ExtendedHopperBackward>(2);
    EXPECT_EQ(params.keys, maps.maps);
    EXPECT_EQ(params.lengths.of_batch, maps.lengths.of_batch);
  }
}

TEST_F(FakeBackward, KeyLengthsGoToPortableRowsUnlessFastOnesAreRequired) {
  driver_.params_bytes = sizeof(params::PortableBackward);
  Engine engine(options_);
  const TrainingCall call(cases::square(2, 2, 100, 128));
  const cases::Tensor table(DType::kI32, {2});
  const TensorView lengths = on_device(table);
  const CallReport report = engine.attention_backward(Program(), call.inputs, call.outputs,
                                                      {.scale = {}, .kv_lengths = &lengths});
  EXPECT_TRUE(report.kernel.starts_with("cuda/portable_backward")) << report.kernel;
  EXPECT_TRUE(report.slow_path);
}

TEST_F(FakeBackward, PortableRowsReadKeyLengthsThemselves) {
  driver_.params_bytes = sizeof(params::PortableBackward);
  Engine engine(options_);
  TrainingCall call(cases::square(2, 2, 100, 64));
  call.inputs.key.strides[3] = 2;
  const cases::Tensor table(DType::kI32, {2});
  const TensorView lengths = on_device(table);
  engine.attention_backward(Program(), call.inputs, call.outputs,
                            {.scale = {}, .kv_lengths = &lengths});
  EXPECT_EQ(params_of<params::PortableBackward>(1).lengths.of_batch,
            reinterpret_cast<DeviceAddress>(lengths.data));
}

}  // namespace
}  // namespace tilewright::cuda
