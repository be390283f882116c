#include "device/device_lists.h"
#include "device/small_call_options.h"
#include "engine/calls.h"
#include "tilewright/device_mask_map.h"
#include "tilewright/mask_map.h"

// One small call of each kernel family and companion, for tools that make kernels a thousand times
// slower (scripts/sanitize_gpu.sh). Kernels come from TILEWRIGHT_CACHE_DIR where it is set.
namespace tilewright::device_tests {
namespace {

class SmallCalls : public GpuTest {
 protected:
  Engine engine_{small_call_options()};
};

TEST_F(SmallCalls, Hopper) {
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 2, 150, 64), DType::kBF16, 1);
  EXPECT_EQ(wrong(engine_, cases::causal(), operands), "");
}

TEST_F(SmallCalls, HopperWithATable) {
  cases::Tensor table(DType::kI32, {150});
  table.fill([](const Dims& at) { return static_cast<double>(at[0] / 40); });
  const Capture document("doc", table);
  const Program documents = trace([document](Index, Index, Index q, Index kv) {
    return Index(document[q]) == Index(document[kv]) && q >= kv;
  });
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 1, 150, 128), DType::kF16, 2);
  EXPECT_EQ(wrong(engine_, documents, operands), "");
}

TEST_F(SmallCalls, Portable) {
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 1, 100, 40), DType::kF32, 3);
  EXPECT_EQ(wrong(engine_, cases::causal(), operands), "");
}

TEST_F(SmallCalls, MaskMap) {
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 1, 150, 64), DType::kBF16, 4);
  const MaskMap map = MaskMap::build(cases::causal(), {.q_len = 150, .kv_len = 150, .q_block = 64});
  EXPECT_EQ(wrong(engine_, cases::causal(), operands, {}, {.scale = {}, .mask_map = &map}), "");
}

/// A dtype for each family.
class SmallFamilyCalls : public SmallCalls, public ::testing::WithParamInterface<DType> {
 protected:
  cases::Operands operands_ = cases::random_operands(cases::square(1, 2, 150, 64), GetParam(), 5);
  cases::Results results_ = cases::results_for(operands_.inputs());
};

TEST_P(SmallFamilyCalls, BlockLists) {
  const RandomLists lists(cases::square(1, 2, 150, 64), {.q_block = 64, .kv_block = 32});
  const ListsOnDevice on_device(lists);
  const DeviceCall call(cases::causal(), operands_, results_);
  const CallReport report = engine_.attention(call.program(), call.inputs(), call.outputs(),
                                              {.scale = {}, .block_lists = &on_device.lists});
  EXPECT_TRUE(report.kernel.ends_with("_lists")) << report.kernel;
  EXPECT_EQ(call.download(), "");
  const cases::Reference reference = cases::reference_of(
      cases::causal(), operands_.inputs(), {.scale = {}, .block_lists = &lists.lists});
  EXPECT_EQ(cases::mismatch(results_, reference, GetParam()), "");
}

TEST_P(SmallFamilyCalls, KeyLengths) {
  cases::Tensor lengths(DType::kI32, {1});
  lengths.fill(77);
  const Capture keys("keys", lengths);
  const Program within =
      trace([keys](Index b, Index, Index, Index kv) { return kv < Index(keys[b]); });
  const DeviceCopy on_device(lengths);
  const DeviceCall call(Program(), operands_, results_);
  engine_.attention(call.program(), call.inputs(), call.outputs(),
                    {.scale = {}, .kv_lengths = &on_device.view()});
  EXPECT_EQ(call.download(), "");
  EXPECT_EQ(cases::mismatch(results_, within, operands_.inputs()), "");
}

TEST_P(SmallFamilyCalls, DeviceMap) {
  const DeviceCall call(cases::causal(), operands_, results_);
  const DeviceMaskMapOptions options{.q_len = 150, .kv_len = 150};
  const cases::Tensor bytes(
      DType::kU8, {static_cast<std::int64_t>(DeviceMaskMap::bytes_for(call.program(), options))});
  const DeviceCopy memory(bytes);
  const DeviceMaskMap map(call.program(), options, memory.view());
  engine_.build_mask_map(map, problem_from(call.inputs(), call.outputs()));
  engine_.attention(call.program(), call.inputs(), call.outputs(),
                    {.scale = {}, .device_map = &map});
  EXPECT_EQ(call.download(), "");
  EXPECT_EQ(cases::mismatch(results_, cases::causal(), operands_.inputs()), "");
}

INSTANTIATE_TEST_SUITE_P(SmallCalls, SmallFamilyCalls, ::testing::Values(DType::kBF16, DType::kF32),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST_F(SmallCalls, Decode) {
  cases::Extents extents = cases::square(1, 4, 3, 64);
  extents.kv_heads = 2;
  extents.kv_len = 600;
  const cases::Operands operands = cases::random_operands(extents, DType::kBF16, 6);
  EXPECT_EQ(wrong(engine_, Program(), operands), "");
}

}  // namespace
}  // namespace tilewright::device_tests
