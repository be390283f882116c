#include "backends/cuda/launch/length_launch.h"
#include "backends/cuda/launch/list_launch.h"
#include "backends_cuda/fake_calls.h"
#include "tilewright/mask_map.h"

// What prepare() compiles, seen by a fake driver: under a policy that forbids compiling in calls,
// no call of a prepared attention meets a kernel that is not there.
namespace tilewright::cuda {
namespace {

constexpr std::int64_t kLength = 300;

class FakePrepare : public FakeLaunch {
 protected:
  FakePrepare() {
    driver_.params_bytes = sizeof(params::ExtendedHopper);
    driver_.single_parameter = {{"_length_maps", sizeof(params::LengthMaps)},
                                {"_build_spans", sizeof(params::Lists)},
                                {"_upload_small", sizeof(params::SmallChunk)}};
    options_.compile_policy = CompilePolicy::kForbid;
  }

  static Problem problem(const cases::Extents& extents) {
    Problem problem = cases::problem_of(extents);
    problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype =
        DType::kBF16;
    problem.device = kDevice0;
    return problem;
  }
};

TEST_F(FakePrepare, CallsWithKeyLengthsFindTheirKernels) {
  Engine engine(options_);
  const cases::Extents extents = cases::square(2, 2, kLength, 64);
  const Attention attention = engine.prepare(cases::causal(), problem(extents));
  const std::int64_t compiles = engine.stats().compiles;
  const Call call(extents);
  const cases::Tensor table(DType::kI32, {2});
  const TensorView lengths = on_device(table);
  EXPECT_TRUE(attention.forward(call.inputs, call.outputs, {.kv_lengths = &lengths})
                  .kernel.ends_with("_lengths"));
  const Call decode({.batch = 2,
                     .kv_batch = 2,
                     .query_heads = 2,
                     .kv_heads = 2,
                     .q_len = 1,
                     .kv_len = 4096,
                     .head_dim = 64,
                     .value_dim = 64});
  EXPECT_TRUE(attention.forward(decode.inputs, decode.outputs, {.kv_lengths = &lengths})
                  .kernel.ends_with("_pack_split"));
  EXPECT_EQ(engine.stats().compiles, compiles);
}

TEST_F(FakePrepare, CallsWithListsOrAMapFindTheirKernel) {
  Engine engine(options_);
  const cases::Extents extents = cases::square(1, 2, kLength, 64);
  const Attention attention = engine.prepare(cases::causal(), problem(extents));
  const std::int64_t compiles = engine.stats().compiles;
  const Call call(extents);
  const MaskMap map =
      MaskMap::build(cases::causal(), {.q_len = kLength, .kv_len = kLength, .q_block = 128});
  EXPECT_TRUE(
      attention.forward(call.inputs, call.outputs, {.mask_map = &map}).kernel.ends_with("_lists"));
  EXPECT_EQ(engine.stats().compiles, compiles);
}

TEST_F(FakePrepare, WhereCallsMayCompileOnlyTheCallAtHandIsPreparedFor) {
  options_.compile_policy = CompilePolicy::kAllow;
  Engine engine(options_);
  engine.prepare(cases::causal(), problem(cases::square(1, 2, kLength, 64)));
  EXPECT_EQ(engine.stats().compiles, 1);
}

/// tanh and sigmoid have a fast form by option, which makes another kernel of the same structure.
TEST_F(FakePrepare, FastFunctionsMakeAKernelOfTheirOwn) {
  const Program capped =
      trace([](Score score, Index, Index, Index, Index) { return 20.0 * tanh(score / 20.0); });
  options_.compile_policy = CompilePolicy::kAllow;
  options_.cache_dir = (scratch_.path() / "cache").string();
  for (const bool fast : {false, true, false}) {
    options_.fast_functions = fast;
    Engine engine(options_);
    const Attention attention = engine.prepare(capped, problem(cases::square(1, 2, kLength, 64)));
    const std::string source = attention.explain("source");
    EXPECT_EQ(source.find("using S = mods::FastScoreArithmetic;") != std::string::npos, fast);
    EXPECT_EQ(source.find("using S = mods::ScoreArithmetic;") != std::string::npos, !fast);
  }
}

}  // namespace
}  // namespace tilewright::cuda
