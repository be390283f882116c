#include "device/cuda_graph.h"
#include "device/gpu_fixture.h"
#include "engine/calls.h"
#include "tilewright/c.h"

// The C interface on a GPU: tensors, streams, errors.
namespace tilewright::device_tests {
namespace {

tw_tensor c_tensor(const TensorView& view, tw_dtype dtype) {
  return {.data = view.data,
          .dtype = dtype,
          .rank = static_cast<std::int32_t>(view.rank()),
          .shape = view.shape.begin(),
          .strides = view.strides.begin(),
          .device = TW_CUDA,
          .device_ordinal = 0};
}

class CAbi : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    tw_engine_options options{};
    options.struct_bytes = sizeof options;
    options.cache_dir = "none";
    ASSERT_EQ(tw_engine_create(&options, &engine_), TW_OK) << tw_last_error();
    ASSERT_EQ(tw_program_parse("q >= kv", 7, &causal_), TW_OK) << tw_last_error();
  }
  void TearDown() override {
    tw_program_destroy(causal_);
    tw_engine_destroy(engine_);
  }
  tw_engine* engine_ = nullptr;
  tw_program* causal_ = nullptr;
};

TEST_F(CAbi, ForwardRunsOnTheCallersStream) {
  const Stream stream;
  const cases::Operands operands =
      cases::random_operands(cases::square(2, 3, 300, 64), DType::kBF16, 15);
  const cases::Results results =
      cases::results_for(operands.inputs(), {.out_dtype = {}, .max_scores = false});
  const DeviceCall call(cases::causal(), operands, results);
  const ForwardInputs in = call.inputs();
  const ForwardOutputs out = call.outputs();
  const tw_inputs inputs{c_tensor(in.query, TW_BF16), c_tensor(in.key, TW_BF16),
                         c_tensor(in.value, TW_BF16)};
  const tw_tensor lse = c_tensor(*out.lse, TW_F32);
  const tw_outputs outputs{c_tensor(out.out, TW_BF16), &lse, nullptr};
  tw_call_options options{};
  options.struct_bytes = sizeof options;
  options.stream = stream.handle();
  ASSERT_EQ(tw_forward_with(engine_, causal_, &inputs, &outputs, &options), TW_OK)
      << tw_last_error();
  stream.synchronise();
  EXPECT_EQ(call.download(), "");
  EXPECT_EQ(cases::mismatch(results, cases::causal(), operands.inputs()), "");
}

TEST_F(CAbi, AMapThatTheDeviceMakesAndLengthsThatItReads) {
  const std::int64_t length = 500;
  const cases::Operands operands =
      cases::random_operands(cases::square(2, 1, length, 64), DType::kBF16, 17);
  const cases::Results results =
      cases::results_for(operands.inputs(), {.out_dtype = {}, .lse = false, .max_scores = false});
  const DeviceCall call(cases::causal(), operands, results);
  const ForwardInputs in = call.inputs();
  const tw_inputs inputs{c_tensor(in.query, TW_BF16), c_tensor(in.key, TW_BF16),
                         c_tensor(in.value, TW_BF16)};
  const ForwardOutputs out = call.outputs();
  const tw_outputs outputs{c_tensor(out.out, TW_BF16), nullptr, nullptr};
  tw_device_mask_map_options sizes{};
  sizes.struct_bytes = sizeof sizes;
  sizes.q_len = sizes.kv_len = length;
  std::size_t bytes = 0;
  ASSERT_EQ(tw_device_mask_map_bytes(causal_, &sizes, &bytes), TW_OK) << tw_last_error();
  const cases::Tensor room(DType::kU8, {static_cast<std::int64_t>(bytes)});
  const DeviceCopy memory(room);
  const tw_tensor map_memory = c_tensor(memory.view(), TW_U8);
  tw_device_mask_map* map = nullptr;
  ASSERT_EQ(tw_device_mask_map_create(causal_, &sizes, &map_memory, &map), TW_OK)
      << tw_last_error();
  tw_problem problem{};
  problem.struct_bytes = sizeof problem;
  problem.batch = 2;
  problem.q_len = problem.kv_len = length;
  problem.head_dim = 64;
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = TW_BF16;
  problem.device = TW_CUDA;
  ASSERT_EQ(tw_device_mask_map_build(engine_, map, &problem, nullptr), TW_OK) << tw_last_error();
  cases::Tensor table(DType::kI32, {2});
  table.fill([](const Dims& at) { return at[0] == 0 ? 500.0 : 77.0; });
  const DeviceCopy lengths(table);
  const tw_tensor kv_lengths = c_tensor(lengths.view(), TW_I32);
  tw_call_options options{};
  options.struct_bytes = sizeof options;
  options.device_map = map;
  options.kv_lengths = &kv_lengths;
  ASSERT_EQ(tw_forward_with(engine_, causal_, &inputs, &outputs, &options), TW_OK)
      << tw_last_error();
  EXPECT_EQ(call.download(), "");
  const Capture keys("keys", table);
  const Program within =
      trace([keys](Index b, Index, Index q, Index kv) { return q >= kv && kv < Index(keys[b]); });
  EXPECT_EQ(cases::mismatch(results, within, operands.inputs()), "");
  tw_device_mask_map_destroy(map);
}

TEST_F(CAbi, TensorsOnTwoDevicesAreRefused) {
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 1, 64, 64), DType::kBF16, 16);
  const cases::Results results =
      cases::results_for(operands.inputs(), {.out_dtype = {}, .max_scores = false});
  const DeviceCall call(cases::causal(), operands, results);
  const ForwardInputs in = call.inputs();
  const ForwardOutputs out = call.outputs();
  tw_inputs inputs{c_tensor(in.query, TW_BF16), c_tensor(in.key, TW_BF16),
                   c_tensor(in.value, TW_BF16)};
  inputs.key.device = TW_CPU;
  const tw_outputs outputs{c_tensor(out.out, TW_BF16), nullptr, nullptr};
  EXPECT_EQ(tw_forward(engine_, causal_, &inputs, &outputs, nullptr), TW_INVALID_ARGUMENT);
  EXPECT_NE(std::string(tw_last_error()).find("key"), std::string::npos) << tw_last_error();
}

}  // namespace
}  // namespace tilewright::device_tests
