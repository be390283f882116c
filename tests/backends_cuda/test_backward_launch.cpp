#include <gtest/gtest.h>

#include <cstring>

#include "backends/cuda/launch/backward_params.h"
#include "backends/cuda/launch/length_launch.h"
#include "backends/cuda/launch/list_launch.h"
#include "backends_cuda/fakes.h"
#include "engine/calls.h"

// What a backward call asks of the driver, seen by a fake one. Tensors on "cuda" lie in host
// memory, which nothing reads.
namespace tilewright::cuda {
namespace {

constexpr Device kDevice0{DeviceKind::kCuda, 0};
constexpr std::size_t kHeadBytes = 56;  // a parameter block without captures and numbers

TensorView on_device(const cases::Tensor& tensor) {
  TensorView view = tensor.view();
  view.device = kDevice0;
  return view;
}

struct Call {
  explicit Call(const cases::Extents& extents, DType gradient = DType::kBF16)
      : query(DType::kBF16, extents.query_shape()),
        key(DType::kBF16, extents.key_shape()),
        value(DType::kBF16, extents.value_shape()),
        out(DType::kBF16, extents.out_shape()),
        lse(DType::kF32, extents.row_shape()),
        d_out(DType::kBF16, extents.out_shape()),
        d_query(gradient, extents.query_shape()),
        d_key(gradient, extents.key_shape()),
        d_value(gradient, extents.value_shape()),
        inputs{on_device(query),
               on_device(key),
               on_device(value),
               on_device(out),
               on_device(lse),
               on_device(d_out),
               {}},
        outputs{on_device(d_query), on_device(d_key), on_device(d_value), {}} {}
  cases::Tensor query, key, value, out, lse, d_out, d_query, d_key, d_value;
  BackwardInputs inputs;
  BackwardOutputs outputs;
};

class FakeBackward : public ::testing::Test {
 protected:
  FakeBackward() : driver_(fakes::driver_state()) {
    driver_.params_bytes = sizeof(params::HopperBackward);
    driver_.block_bytes = kHeadBytes;
    driver_.single_parameter = {{"_prepare", sizeof(params::BackwardPrepare)},
                                {"_finish_query", sizeof(params::GradientFinish)},
                                {"_finish_key", sizeof(params::GradientFinish)},
                                {"_finish_value", sizeof(params::GradientFinish)}};
    options_.cache_dir = "none";
    options_.cuda_driver = fakes::driver_library();
    options_.nvrtc = fakes::install_nvrtc(13, scratch_.path());
  }

  template <class Params>
  Params params_of(std::size_t index) const {
    Params params;
    std::memcpy(&params, driver_.launches.at(index).params.data(), sizeof params);
    return params;
  }

  testing::ScratchFolder scratch_;
  fake::FakeDriver& driver_;
  EngineOptions options_;
};

cases::Extents grouped() {
  cases::Extents extents = cases::square(2, 4, 300, 128);
  extents.kv_heads = 2;
  extents.kv_len = 9000;
  return extents;
}

TEST_F(FakeBackward, PreparesRunsAndFinishesOnTheCallersStream) {
  Engine engine(options_);
  const Call call(grouped());
  const CallReport report = engine.attention_backward(Program(), call.inputs, call.outputs,
                                                      {.stream = reinterpret_cast<void*>(0x57)});
  EXPECT_EQ(report.kernel, "cuda/hopper_backward_m64_s22");
  EXPECT_FALSE(report.deterministic);
  EXPECT_FALSE(report.slow_path);
  ASSERT_EQ(driver_.launches.size(), 3U);
  for (const fake::FakeLaunch& launch : driver_.launches)
    EXPECT_EQ(launch.stream, reinterpret_cast<void*>(0x57));
  const auto prepare = params_of<params::BackwardPrepare>(0);
  EXPECT_EQ(driver_.launches[0].grid_x, 2U * 4 * 5);
  EXPECT_EQ(prepare.lse, reinterpret_cast<DeviceAddress>(call.inputs.lse.data));
  EXPECT_EQ(prepare.d_lse, 0U);
  EXPECT_EQ(prepare.d_out_copy, 0U) << "a plain call reads d_out where it lies";
  EXPECT_EQ(prepare.turns, 0U);
  EXPECT_EQ(prepare.out_in_vectors, 1);
  const auto params = params_of<params::HopperBackward>(1);
  EXPECT_EQ(params.minus_lse, prepare.minus_lse);
  EXPECT_EQ(params.d_query_sums, prepare.d_query_sums);
  EXPECT_EQ(params.d_key, reinterpret_cast<DeviceAddress>(call.outputs.d_key->data));
  EXPECT_EQ(params.d_key_sums, 0U);
  EXPECT_EQ(params.extents.group_heads, 2);
  EXPECT_EQ(params.schedule.kv_tiles, 71);
  EXPECT_EQ(params.schedule.items, 71 * 4);
  EXPECT_EQ(params.schedule.parts, 1);
  const auto finish = params_of<params::GradientFinish>(2);
  EXPECT_EQ(finish.sums, prepare.d_query_sums);
  EXPECT_EQ(finish.gradient, reinterpret_cast<DeviceAddress>(call.outputs.d_query->data));
  EXPECT_EQ(finish.in_vectors, 1);
  EXPECT_EQ(driver_.tensor_maps.size(), 4U);
  EXPECT_EQ(driver_.pushes, driver_.pops);
}

TEST_F(FakeBackward, OtherDtypesAndStridesAreFinishedFromSums) {
  Engine engine(options_);
  const Call call(grouped(), DType::kF32);
  engine.attention_backward(Program(), call.inputs, call.outputs);
  ASSERT_EQ(driver_.launches.size(), 5U) << "preparation, products, three ends";
  const auto params = params_of<params::HopperBackward>(1);
  EXPECT_NE(params.d_key_sums, 0U);
  EXPECT_NE(params.d_value_sums, 0U);
  EXPECT_EQ(params_of<params::GradientFinish>(3).sums, params.d_key_sums);
  EXPECT_EQ(params_of<params::GradientFinish>(4).kind, static_cast<int>(DType::kF32));
  EXPECT_EQ(params_of<params::GradientFinish>(4).in_vectors, 0);
  EXPECT_EQ(params_of<params::GradientFinish>(4).factor, 1.0F);
}

TEST_F(FakeBackward, AbsentGradientsAreNeitherStoredNorFinished) {
  Engine engine(options_);
  Call call(grouped());
  call.outputs.d_query.reset();
  call.outputs.d_key.reset();
  engine.attention_backward(Program(), call.inputs, call.outputs);
  ASSERT_EQ(driver_.launches.size(), 2U);
  EXPECT_EQ(params_of<params::HopperBackward>(1).d_key, 0U);
}

TEST_F(FakeBackward, MasksCopyDOutAndAFixedOrderTakesTurns) {
  options_.deterministic = true;
  Engine engine(options_);
  const Call call(grouped());
  EXPECT_TRUE(engine.attention_backward(cases::causal(), call.inputs, call.outputs).deterministic);
  const auto prepare = params_of<params::BackwardPrepare>(0);
  EXPECT_NE(prepare.d_out_copy, 0U);
  EXPECT_NE(prepare.turns, 0U);
  EXPECT_EQ(driver_.tensor_maps.at(3).address, reinterpret_cast<void*>(prepare.d_out_copy));
}

TEST_F(FakeBackward, WorkspaceIsLinearInTheLengths) {
  Engine engine(options_);
  std::size_t bytes[2];
  for (const int n : {0, 1}) {
    cases::Extents extents = cases::square(1, 1, 4096 << n, 64);
    const Call call(extents);
    Engine fresh(options_);
    fresh.attention_backward(cases::causal(), call.inputs, call.outputs);
    bytes[n] = fresh.stats().workspace_bytes_peak;
  }
  EXPECT_EQ(bytes[1], 2 * bytes[0]);
}

TEST_F(FakeBackward, ZeroSizedProblemsLaunchWhatMustBeWritten) {
  Engine engine(options_);
  cases::Extents extents = cases::square(1, 2, 0, 64);
  extents.kv_len = 100;
  const Call no_rows(extents);
  engine.attention_backward(Program(), no_rows.inputs, no_rows.outputs);
  ASSERT_EQ(driver_.launches.size(), 1U) << "zeros for keys and values";
  driver_.launches.clear();
  extents.q_len = 100;
  extents.kv_len = 0;
  const Call no_keys(extents);
  engine.attention_backward(Program(), no_keys.inputs, no_keys.outputs);
  EXPECT_EQ(driver_.launches.size(), 2U) << "zeros for queries";
}

TEST_F(FakeBackward, AnyStridesAreServedByThePortableFamily) {
  driver_.params_bytes = sizeof(params::PortableBackward);
  Engine engine(options_);
  Call call(cases::square(1, 2, 100, 64));
  call.inputs.query.strides[3] = 2;
  const CallReport report = engine.attention_backward(Program(), call.inputs, call.outputs);
  EXPECT_EQ(report.kernel, "cuda/portable_backward_w4x1_k2_q64c32_s22_c2");
  EXPECT_TRUE(report.slow_path);
  ASSERT_EQ(driver_.launches.size(), 3U);
  EXPECT_TRUE(driver_.tensor_maps.empty());
  const auto prepare = params_of<params::BackwardPrepare>(0);
  EXPECT_EQ(prepare.cut.tile_rows, 64);
  EXPECT_EQ(prepare.cut.block_tiles, 1);
  EXPECT_EQ(prepare.cut.block_rows, 64);
  EXPECT_EQ(prepare.value_dim, 64);
  EXPECT_EQ(prepare.d_out_copy, 0U) << "single elements may lie anywhere";
  const auto params = params_of<params::PortableBackward>(1);
  EXPECT_EQ(params.query_strides.column, 2);
  EXPECT_EQ(params.d_out, reinterpret_cast<DeviceAddress>(call.inputs.d_out.data));
  EXPECT_EQ(params.minus_lse, prepare.minus_lse);
  EXPECT_EQ(params.d_key_in_vectors, 1);
  EXPECT_EQ(params.lists.ranges, 0U);
  EXPECT_EQ(params.q_tiles, 2);
  EXPECT_EQ(driver_.launches[1].grid_x, static_cast<unsigned>(params.schedule.items));
  const auto finish = params_of<params::GradientFinish>(2);
  EXPECT_EQ(finish.cut.tile_rows, 64);
  EXPECT_EQ(finish.dim, 64);
}

TEST_F(FakeBackward, OddHeadDimsAreServedByThePortableFamily) {
  driver_.params_bytes = sizeof(params::PortableBackward);
  Engine engine(options_);
  cases::Extents extents = cases::square(2, 4, 9000, 100);
  extents.value_dim = 37;
  const Call call(extents);
  const CallReport report = engine.attention_backward(cases::causal(), call.inputs, call.outputs);
  EXPECT_EQ(report.kernel, "cuda/portable_backward_w4x2_k2_q64c32_s22_c2");
  const auto params = params_of<params::PortableBackward>(1);
  EXPECT_EQ(params.head_dim, 100);
  EXPECT_EQ(params.value_dim, 37);
  EXPECT_EQ(params.d_out_strides.row, 40) << "rows of the copy are padded";
  EXPECT_EQ(params.d_key_in_vectors, 0);
  EXPECT_EQ(params.d_key_sums, 0U) << "stored by the main kernel";
}

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
  const Call call(cases::square(2, 4, 300, 128));
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
  Call call(cases::square(2, 4, 300, 128));
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
    const Call call(extents);
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
  const Call call(cases::square(2, 2, 100, 128));
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
  Call call(cases::square(2, 2, 100, 64));
  call.inputs.key.strides[3] = 2;
  const cases::Tensor table(DType::kI32, {2});
  const TensorView lengths = on_device(table);
  engine.attention_backward(Program(), call.inputs, call.outputs,
                            {.scale = {}, .kv_lengths = &lengths});
  EXPECT_EQ(params_of<params::PortableBackward>(1).lengths.of_batch,
            reinterpret_cast<DeviceAddress>(lengths.data));
}

TEST_F(FakeBackward, WhatNoRowServesIsRefusedWithItsReason) {
  Engine engine(options_);
  const Call call(cases::square(1, 1, 64, 600));
  const Error error =
      cases::error_of([&] { engine.attention_backward(Program(), call.inputs, call.outputs); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_NE(std::string(error.what()).find("head dims"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace tilewright::cuda
