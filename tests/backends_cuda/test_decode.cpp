#include "backends/cuda/launch/merge_launch.h"
#include "backends_cuda/fake_calls.h"

// Few query rows and many keys: groups are packed, keys split, parts joined.
namespace tilewright::cuda {
namespace {

class FakeDecode : public FakeLaunch {
 protected:
  FakeDecode() {
    driver_.params_bytes = sizeof(params::Portable);
    driver_.single_parameter = {{"_merge", sizeof(params::Merge)}};
  }

  static cases::Extents decode(std::int64_t q_len, std::int64_t kv_len) {
    return {.batch = 2,
            .kv_batch = 2,
            .query_heads = 16,
            .kv_heads = 4,
            .q_len = q_len,
            .kv_len = kv_len,
            .head_dim = 128,
            .value_dim = 128};
  }
};

TEST_F(FakeDecode, PacksGroupsSplitsKeysAndJoinsTheParts) {
  Engine engine(options_);
  const Call call(decode(3, 4096));
  const CallReport report = engine.attention(Program(), call.inputs, call.outputs);
  EXPECT_TRUE(report.kernel.ends_with("_pack_split")) << report.kernel;
  EXPECT_FALSE(report.slow_path);
  ASSERT_EQ(driver_.launches.size(), 2U);
  const auto params = params_of<params::Portable>(0);
  const auto merge = params_of<params::Merge>(1);
  EXPECT_TRUE(driver_.launches[1].function.ends_with("_merge"));
  const int splits = params.schedule.splits;
  EXPECT_EQ(splits, key_split(cases::problem_of(decode(3, 4096))).parts);
  EXPECT_GT(splits, 1);
  EXPECT_EQ(params.schedule.items, 2 * 4 * splits) << "a key head's 12 rows fill one tile";
  EXPECT_EQ(params.out, merge.out_parts);
  EXPECT_EQ(params.out_strides.slot, 2 * 16 * 3 * 128);
  EXPECT_EQ(params.lse, merge.lse_parts);
  EXPECT_EQ(merge.lse_parts, merge.out_parts + splits * 2 * 16 * 3 * 128 * sizeof(float));
  EXPECT_EQ(merge.out, reinterpret_cast<DeviceAddress>(call.outputs.out.data));
  EXPECT_EQ(merge.lse, reinterpret_cast<DeviceAddress>(call.outputs.lse->data));
  EXPECT_EQ(merge.out_strides.row, 128);
  EXPECT_EQ(driver_.launches[1].grid_x, 2U * 16U * 3U) << "a row a block";
  EXPECT_EQ(driver_.pool_allocations, driver_.pool_deallocations);
}

TEST_F(FakeDecode, TheLengthsOfTheCallDecideWhateverWasPrepared) {
  Engine engine(options_);
  Problem problem = cases::problem_of(decode(4096, 4096));
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = DType::kBF16;
  problem.device = kDevice0;
  const Attention attention = engine.prepare(Program(), problem);
  const auto kernel_of = [&](std::int64_t q_len, std::int64_t kv_len) {
    const Call call(decode(q_len, kv_len));
    return attention.forward(call.inputs, call.outputs).kernel;
  };
  EXPECT_TRUE(kernel_of(4096, 4096).starts_with("cuda/hopper"));
  EXPECT_TRUE(kernel_of(1, 4096).ends_with("_pack_split"));
  EXPECT_TRUE(kernel_of(16, 100000).ends_with("_pack_split"));
  EXPECT_TRUE(kernel_of(500, 4096).starts_with("cuda/hopper"));
  EXPECT_EQ(engine.stats().compiles, 2) << "one for each class of lengths";
}

TEST_F(FakeDecode, WhereCompilingIsForbiddenPrepareCompilesForAllLengths) {
  options_.compile_policy = CompilePolicy::kForbid;
  Engine engine(options_);
  Problem problem = cases::problem_of(decode(4096, 4096));
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = DType::kBF16;
  problem.device = kDevice0;
  const Attention attention = engine.prepare(Program(), problem);
  const Call call(decode(1, 4096));
  EXPECT_TRUE(attention.forward(call.inputs, call.outputs).kernel.ends_with("_pack_split"));
}

TEST(KeySplits, DependOnTheKeysAlone) {
  Problem problem;
  for (const std::int64_t heads : {1, 8, 64})
    for (const std::int64_t keys : {0, 1, 512, 513, 4096, 20000, 131072, 1 << 20}) {
      problem.kv_heads = heads;
      problem.kv_len = keys;
      const KeySplit split = key_split(problem);
      EXPECT_GE(static_cast<std::int64_t>(split.parts) * split.part_keys, keys);
      if (keys > 0) {
        EXPECT_LT(static_cast<std::int64_t>(split.parts - 1) * split.part_keys, keys);
      }
      EXPECT_LE(split.parts, std::max<std::int64_t>(256 / heads, 8));
      problem.batch = 7;
      EXPECT_EQ(key_split(problem).part_keys, split.part_keys);
    }
}

}  // namespace
}  // namespace tilewright::cuda
