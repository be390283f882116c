#include "backends_cuda/fake_backward.h"

// What a backward call asks of the driver, seen by a fake one.
namespace tilewright::cuda {
namespace {

cases::Extents grouped() {
  cases::Extents extents = cases::square(2, 4, 300, 128);
  extents.kv_heads = 2;
  extents.kv_len = 9000;
  return extents;
}

TEST_F(FakeBackward, PreparesRunsAndFinishesOnTheCallersStream) {
  Engine engine(options_);
  const TrainingCall call(grouped());
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
  const TrainingCall call(grouped(), DType::kF32);
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
  TrainingCall call(grouped());
  call.outputs.d_query.reset();
  call.outputs.d_key.reset();
  engine.attention_backward(Program(), call.inputs, call.outputs);
  ASSERT_EQ(driver_.launches.size(), 2U);
  EXPECT_EQ(params_of<params::HopperBackward>(1).d_key, 0U);
}

TEST_F(FakeBackward, MasksCopyDOutAndAFixedOrderTakesTurns) {
  options_.deterministic = true;
  Engine engine(options_);
  const TrainingCall call(grouped());
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
    const TrainingCall call(extents);
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
  const TrainingCall no_rows(extents);
  engine.attention_backward(Program(), no_rows.inputs, no_rows.outputs);
  ASSERT_EQ(driver_.launches.size(), 1U) << "zeros for keys and values";
  driver_.launches.clear();
  extents.q_len = 100;
  extents.kv_len = 0;
  const TrainingCall no_keys(extents);
  engine.attention_backward(Program(), no_keys.inputs, no_keys.outputs);
  EXPECT_EQ(driver_.launches.size(), 2U) << "zeros for queries";
}

TEST_F(FakeBackward, AnyStridesAreServedByThePortableFamily) {
  driver_.params_bytes = sizeof(params::PortableBackward);
  Engine engine(options_);
  TrainingCall call(cases::square(1, 2, 100, 64));
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
  const TrainingCall call(extents);
  const CallReport report = engine.attention_backward(cases::causal(), call.inputs, call.outputs);
  EXPECT_EQ(report.kernel, "cuda/portable_backward_w4x2_k2_q64c32_s22_c2");
  const auto params = params_of<params::PortableBackward>(1);
  EXPECT_EQ(params.head_dim, 100);
  EXPECT_EQ(params.value_dim, 37);
  EXPECT_EQ(params.d_out_strides.row, 40) << "rows of the copy are padded";
  EXPECT_EQ(params.d_key_in_vectors, 0);
  EXPECT_EQ(params.d_key_sums, 0U) << "stored by the main kernel";
}

TEST_F(FakeBackward, WhatNoRowServesIsRefusedWithItsReason) {
  Engine engine(options_);
  const TrainingCall call(cases::square(1, 1, 64, 600));
  const Error error =
      cases::error_of([&] { engine.attention_backward(Program(), call.inputs, call.outputs); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_NE(std::string(error.what()).find("head dims"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace tilewright::cuda
