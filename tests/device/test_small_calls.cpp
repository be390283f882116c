#include <cstdlib>

#include "device/gpu_fixture.h"
#include "engine/calls.h"
#include "tilewright/mask_map.h"

// One small call of each kernel family and companion, for tools that make kernels a thousand times
// slower (scripts/sanitize_gpu.sh). Kernels come from TILEWRIGHT_CACHE_DIR where it is set.
namespace tilewright::device_tests {
namespace {

class SmallCalls : public GpuTest {
 protected:
  static EngineOptions options() {
    EngineOptions options;
    if (std::getenv("TILEWRIGHT_CACHE_DIR") == nullptr) options.cache_dir = "none";
    return options;
  }
  Engine engine_{options()};
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

TEST_F(SmallCalls, BlockLists) {
  const cases::Operands operands =
      cases::random_operands(cases::square(1, 1, 150, 64), DType::kBF16, 5);
  const MaskMap map = MaskMap::build(cases::causal(), {.q_len = 150, .kv_len = 150, .q_block = 64});
  const auto host = map.to_block_lists(64, 32);
  const auto copy = [](const TensorView& view) { return cases::copy_of(view); };
  const cases::Tensor counts = copy(host->lists.kv_num_blocks),
                      indices = copy(host->lists.kv_indices),
                      full_counts = copy(*host->lists.full_kv_num_blocks),
                      full_indices = copy(*host->lists.full_kv_indices);
  const DeviceCopy device_counts(counts), device_indices(indices), device_full_counts(full_counts),
      device_full_indices(full_indices);
  BlockLists lists = host->lists;
  lists.kv_num_blocks = device_counts.view();
  lists.kv_indices = device_indices.view();
  lists.full_kv_num_blocks = device_full_counts.view();
  lists.full_kv_indices = device_full_indices.view();
  const cases::Results results = cases::results_for(operands.inputs());
  const DeviceCall call(cases::causal(), operands, results);
  engine_.attention(call.program(), call.inputs(), call.outputs(),
                    {.scale = {}, .block_lists = &lists});
  EXPECT_EQ(call.download(), "");
  EXPECT_EQ(cases::mismatch(results, cases::causal(), operands.inputs()), "");
}

TEST_F(SmallCalls, Decode) {
  cases::Extents extents = cases::square(1, 4, 3, 64);
  extents.kv_heads = 2;
  extents.kv_len = 600;
  const cases::Operands operands = cases::random_operands(extents, DType::kBF16, 6);
  EXPECT_EQ(wrong(engine_, Program(), operands), "");
}

}  // namespace
}  // namespace tilewright::device_tests
