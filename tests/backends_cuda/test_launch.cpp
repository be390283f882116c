#include <gtest/gtest.h>

#include <cmath>

#include "backends/cuda/device/schedule_counters.h"
#include "backends_cuda/fake_calls.h"

// What a call asks of the driver, seen by a fake one. Tensors on "cuda" lie in host memory, which
// nothing reads.
namespace tilewright::cuda {
namespace {

TEST_F(FakeLaunch, ACallNamesItsKernelAndFillsItsParameters) {
  Engine engine(options_);
  cases::Extents extents = cases::square(2, 4, 300, 128);
  extents.kv_heads = 2;
  extents.kv_len = 513;
  const Call call(extents);
  const CallReport report =
      engine.attention(cases::causal(), call.inputs, call.outputs,
                       {.scale = {}, .stream = reinterpret_cast<void*>(0x57)});
  EXPECT_TRUE(report.kernel.starts_with("cuda/hopper")) << report.kernel;
  EXPECT_FALSE(report.slow_path);

  ASSERT_EQ(driver_.launches.size(), 1U);
  const fake::FakeLaunch& launch = driver_.launches[0];
  EXPECT_EQ(launch.stream, reinterpret_cast<void*>(0x57));
  EXPECT_NE(launch.context, nullptr);
  EXPECT_TRUE(driver_.contexts.empty()) << "the current context must be what it was";
  const params::Hopper params = params_of(0);
  EXPECT_EQ(params.out, reinterpret_cast<DeviceAddress>(call.outputs.out.data));
  EXPECT_EQ(params.lse, reinterpret_cast<DeviceAddress>(call.outputs.lse->data));
  EXPECT_EQ(params.max_scores, 0U);
  EXPECT_EQ(params.out_strides.batch, 4 * 300 * 128);
  EXPECT_EQ(params.out_strides.row, 128);
  EXPECT_EQ(params.lse_strides.head, 300);
  EXPECT_EQ(params.lse_strides.row, 1);
  EXPECT_EQ(params.extents.group_heads, 2);
  EXPECT_EQ(params.extents.kv_rows, 513);
  EXPECT_EQ(params.schedule.last_tile_first, 1);
  EXPECT_EQ(params.schedule.items, 2 * 4 * params.schedule.q_tiles);
  EXPECT_EQ(launch.grid_x, static_cast<unsigned>(params.schedule.items));
  EXPECT_FLOAT_EQ(params.scale, static_cast<float>(1 / std::sqrt(128.0)));

  ASSERT_EQ(driver_.tensor_maps.size(), 3U);
  const fake::FakeTensorMap& key = driver_.tensor_maps[1];
  EXPECT_EQ(key.address, call.inputs.key.data);
  EXPECT_EQ(key.extents[0], 128U);
  EXPECT_EQ(key.extents[1], 513U);
  EXPECT_EQ(key.extents[2], 2U);
  EXPECT_EQ(key.strides_bytes[0], 256U);
  EXPECT_EQ(key.box[0], 64U);
}

TEST_F(FakeLaunch, AfterWarmUpACallNeitherAllocatesNorSynchronises) {
  Engine engine(options_);
  const Call call(cases::square(1, 2, 256, 64));
  engine.attention(cases::causal(), call.inputs, call.outputs);
  const int allocations = driver_.allocations;
  const int synchronisations = driver_.synchronisations;
  const std::size_t modules = driver_.images.size();
  for (int i = 0; i < 100; ++i) engine.attention(cases::causal(), call.inputs, call.outputs);
  EXPECT_EQ(driver_.allocations, allocations);
  EXPECT_EQ(driver_.pool_allocations, 0);
  EXPECT_EQ(driver_.synchronisations, synchronisations);
  EXPECT_EQ(driver_.images.size(), modules);
  EXPECT_EQ(driver_.launches.size(), 101U);
  EXPECT_EQ(driver_.tensor_maps.size(), 303U) << "tensor maps are made anew at each call";
  EXPECT_EQ(engine.stats().compiles, 1);
  EXPECT_EQ(driver_.pushes, driver_.pops);
}

TEST_F(FakeLaunch, NumbersLengthsAndStridesNeverCompile) {
  Engine engine(options_);
  for (const int width : {3, 4, 1000}) {
    for (const std::int64_t length : {200, 300}) {
      const Call call(cases::square(1, 2, length, 64));
      const Program window = trace(
          [width](Index, Index, Index q, Index kv) { return q >= kv && q - kv < Number(width); });
      engine.attention(window, call.inputs, call.outputs);
    }
  }
  EXPECT_EQ(engine.stats().compiles, 1);
}

/// A window whose width is a number of 64 bits: wide numbers take kernels with wide integers.
Program window_of(std::int64_t width) {
  return trace([width](Index, Index, Index q, Index kv) {
    return q >= kv && q - kv < Number("window", width);
  });
}

Problem prepared_problem() {
  Problem problem = cases::problem_of(cases::square(1, 2, 256, 64));
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = DType::kBF16;
  problem.device = kDevice0;
  return problem;
}

TEST_F(FakeLaunch, PrepareCompilesTheVariantInNeedAndACallAnother) {
  Engine engine(options_);
  Attention attention = engine.prepare(window_of(100), prepared_problem());
  EXPECT_EQ(engine.stats().compiles, 1);
  const Call call(cases::square(1, 2, 256, 64));
  attention.forward(call.inputs, call.outputs);
  attention.set("window", std::int64_t{200});
  attention.forward(call.inputs, call.outputs);
  EXPECT_EQ(engine.stats().compiles, 1);
  attention.set("window", std::int64_t{1} << 40);
  attention.forward(call.inputs, call.outputs);
  EXPECT_EQ(engine.stats().compiles, 2);
}

TEST_F(FakeLaunch, WhereCompilingIsForbiddenPrepareCompilesEveryVariant) {
  options_.compile_policy = CompilePolicy::kForbid;
  Engine engine(options_);
  Attention attention = engine.prepare(window_of(100), prepared_problem());
  const Call call(cases::square(1, 2, 256, 64));
  attention.set("window", std::int64_t{1} << 40);
  attention.forward(call.inputs, call.outputs);
}

TEST_F(FakeLaunch, RealNumbersNeedNoWideIntegers) {
  options_.compile_policy = CompilePolicy::kForbid;
  const auto compiles_of = [this](const auto& score_mod) {
    Engine engine(options_);
    const auto causal = [](Index, Index, Index q, Index kv) { return q >= kv; };
    const Attention attention = engine.prepare(trace(score_mod, causal), prepared_problem());
    return engine.stats().compiles;
  };
  const auto fixed = [](Score score, Index, Index, Index, Index) { return 20.0 * tanh(score); };
  const auto numbered = [](Score score, Index, Index, Index, Index) {
    return Number("cap", 20.0) * tanh(score);
  };
  EXPECT_EQ(compiles_of(numbered), compiles_of(fixed));
}

TEST_F(FakeLaunch, ConcurrentLaunchesHaveCountersOfTheirOwnAndCapturedOnesKeepThem) {
  Engine engine(options_);
  const Call call(cases::square(1, 2, 256, 64));
  for (int i = 0; i < 2; ++i) engine.attention(cases::causal(), call.inputs, call.outputs);
  EXPECT_NE(params_of(0).schedule.counters, params_of(1).schedule.counters);
  driver_.capturing = 1;
  engine.attention(cases::causal(), call.inputs, call.outputs);
  driver_.capturing = 0;
  const DeviceAddress captured = params_of(2).schedule.counters;
  driver_.launches.clear();
  for (std::uint32_t i = 0; i < ScheduleCounters::kEagerPairs + 2; ++i) {
    engine.attention(cases::causal(), call.inputs, call.outputs);
    ASSERT_NE(params_of(0).schedule.counters, captured);
    driver_.launches.clear();
    driver_.tensor_maps.clear();
  }
}

TEST_F(FakeLaunch, TheTensorsDeviceDecidesWhereItRuns) {
  Engine engine(options_);
  const Call call(cases::square(1, 1, 128, 64), DType::kBF16, {DeviceKind::kCuda, 1});
  driver_.contexts.push_back(reinterpret_cast<void*>(0x1234));
  engine.attention(Program(), call.inputs, call.outputs);
  EXPECT_EQ(driver_.launches.at(0).context, reinterpret_cast<void*>(0xc0001));
  ASSERT_EQ(driver_.contexts.size(), 1U);
  EXPECT_EQ(driver_.contexts[0], reinterpret_cast<void*>(0x1234));
  driver_.contexts.clear();

  const Call none(cases::square(1, 1, 128, 64), DType::kBF16, {DeviceKind::kCuda, 7});
  const Error error =
      cases::error_of([&] { engine.attention(Program(), none.inputs, none.outputs); });
  EXPECT_EQ(error.parts().where, "cuda:7");
}

TEST_F(FakeLaunch, EmptyProblemsLaunchNothingAndNoKeysStillLaunch) {
  Engine engine(options_);
  cases::Extents extents = cases::square(1, 2, 0, 64);
  const Call no_rows(extents);
  engine.attention(Program(), no_rows.inputs, no_rows.outputs);
  EXPECT_TRUE(driver_.launches.empty());
  extents.q_len = 128;
  const Call no_keys(extents);
  engine.attention(Program(), no_keys.inputs, no_keys.outputs);
  ASSERT_EQ(driver_.launches.size(), 1U)
      << "rows without keys are zeros, which somebody must write";
  EXPECT_EQ(params_of(0).extents.kv_rows, 0);
}

TEST_F(FakeLaunch, AFailedLaunchNamesKernelAndProblem) {
  Engine engine(options_);
  const Call call(cases::square(1, 2, 256, 64));
  driver_.fail_launch = 701;
  const Error error =
      cases::error_of([&] { engine.attention(cases::causal(), call.inputs, call.outputs); });
  EXPECT_EQ(error.code(), ErrorCode::kDevice);
  EXPECT_NE(error.parts().where.find("Q 256"), std::string::npos) << error.what();
  EXPECT_NE(error.parts().where.find("hopper"), std::string::npos) << error.what();
  EXPECT_NE(error.parts().got.find("CUDA_ERROR_FAKE"), std::string::npos) << error.what();
}

TEST_F(FakeLaunch, EachDeviceHasItsContextItsModuleAndItsCounters) {
  Engine engine(options_);
  const Device second{DeviceKind::kCuda, 1};
  const Call first(cases::square(1, 2, 256, 64));
  const Call other(cases::square(1, 2, 256, 64), DType::kBF16, second);
  for (const Call* call : {&first, &other, &first})
    engine.attention(cases::causal(), call->inputs, call->outputs);
  ASSERT_EQ(driver_.launches.size(), 3U);
  EXPECT_NE(driver_.launches[0].context, driver_.launches[1].context);
  EXPECT_EQ(driver_.launches[0].context, driver_.launches[2].context);
  EXPECT_EQ(driver_.images.size(), 2U);
  EXPECT_NE(params_of(0).schedule.counters, params_of(1).schedule.counters);
  EXPECT_TRUE(driver_.contexts.empty()) << "what was current before is current again";
  const Call nowhere(cases::square(1, 2, 256, 64), DType::kBF16, {DeviceKind::kCuda, 2});
  EXPECT_EQ(cases::error_of([&] {
              engine.attention(cases::causal(), nowhere.inputs, nowhere.outputs);
            }).code(),
            ErrorCode::kInvalidArgument);
}

TEST_F(FakeLaunch, TheKernelIsReadableAndItsSourceSelfContained) {
  Engine engine(options_);
  Problem problem = cases::problem_of(cases::square(1, 2, 256, 64));
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = DType::kBF16;
  problem.device = kDevice0;
  const Attention attention = engine.prepare(cases::causal(), problem);
  ASSERT_FALSE(driver_.functions.empty());
  EXPECT_TRUE(driver_.functions[0].starts_with("attention_hopper")) << driver_.functions[0];
  const std::string source = attention.explain("source");
  EXPECT_EQ(source.find("\n#include"), std::string::npos);
  EXPECT_NE(source.find("#line 1 \"attention/hopper_forward.cuh\""), std::string::npos);
  EXPECT_NE(source.find("--gpu-architecture=sm_90a"), std::string::npos);
  EXPECT_EQ(attention.workspace_bytes(), 0U);
}

TEST_F(FakeLaunch, AnEditedKernelFolderIsSeenAtOnce) {
  const std::filesystem::path folder = scratch_.path() / "kernels";
  std::filesystem::copy(std::string(TILEWRIGHT_SOURCE_DIR) + "/kernels/cuda", folder,
                        std::filesystem::copy_options::recursive);
  options_.kernel_dir = folder.string();
  options_.cache_dir = (scratch_.path() / "cache").string();
  const Call call(cases::square(1, 2, 256, 64));
  for (int round = 0; round < 3; ++round) {
    // Rounds 0 and 1 share their sources, so the second finds the first's kernel on disk.
    if (round == 2)
      std::ofstream(folder / "attention/hopper_forward.cuh", std::ios::app) << "// edited\n";
    Engine engine(options_);
    engine.attention(cases::causal(), call.inputs, call.outputs);
    EXPECT_EQ(engine.stats().compiles, round == 1 ? 0 : 1) << "round " << round;
  }
}

TEST_F(FakeLaunch, WhatIsMissingIsOneClearError) {
  options_.cuda_driver = "/nowhere/libcuda.so.1";
  Engine engine(options_);
  const Call call(cases::square(1, 2, 256, 64));
  const Error error =
      cases::error_of([&] { engine.attention(cases::causal(), call.inputs, call.outputs); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_NE(error.parts().what.find("no driver"), std::string::npos);
  EXPECT_NE(error.parts().got.find("/nowhere/libcuda.so.1"), std::string::npos);

  EngineOptions no_compiler = options_;
  no_compiler.cuda_driver = fakes::driver_library();
  no_compiler.nvrtc = scratch_.file("nothing");
  Engine second(no_compiler);
  const Error compiler =
      cases::error_of([&] { second.attention(cases::causal(), call.inputs, call.outputs); });
  EXPECT_EQ(compiler.parts().where, "libnvrtc");
}

TEST_F(FakeLaunch, ABackendThatCannotReachTheTensorsIsRefused) {
  options_.backend = "cpu";
  Engine engine(options_);
  const Call call(cases::square(1, 1, 64, 64));
  EXPECT_EQ(cases::error_of([&] { engine.attention(Program(), call.inputs, call.outputs); }).code(),
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace tilewright::cuda
