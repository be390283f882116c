// R12: what is not meant or not supported raises before anything runs, and says what and why.

#include <functional>
#include <string>
#include <vector>

#include "engine/calls.h"

namespace tilewright::cases {
namespace {

struct Call {
  ForwardInputs inputs;
  ForwardOutputs outputs;
};

struct Mistake {
  std::string name;
  std::function<void(Call&)> make;
  std::vector<std::string> words;  ///< that the message must hold
};

std::vector<Mistake> mistakes() {
  return {
      {"rank 3 query",
       [](Call& c) {
         c.inputs.query.shape = {2, 20, 16};
         c.inputs.query.strides = {320, 16, 1};
       },
       {"query", "[2, 20, 16]"}},
      {"other key dim", [](Call& c) { c.inputs.key.shape[3] = 15; }, {"key", "16", "15"}},
      {"other value length", [](Call& c) { c.inputs.value.shape[2] = 29; }, {"value", "30", "29"}},
      {"other value heads", [](Call& c) { c.inputs.value.shape[1] = 1; }, {"value", "2", "1"}},
      {"heads that do not divide",
       [](Call& c) { c.inputs.query.shape[1] = 3; },
       {"query", "3", "2"}},
      {"batch of keys", [](Call& c) { c.inputs.query.shape[0] = 3; }, {"key", "3"}},
      {"other out dim", [](Call& c) { c.outputs.out.shape[3] = 15; }, {"out", "16", "15"}},
      {"other out length", [](Call& c) { c.outputs.out.shape[2] = 19; }, {"out", "20", "19"}},
      {"lse of another shape", [](Call& c) { c.outputs.lse->shape[2] = 21; }, {"lse", "20", "21"}},
      {"lse in half", [](Call& c) { c.outputs.lse->dtype = DType::kF16; }, {"lse", "f16", "f32"}},
      {"max_scores in f64",
       [](Call& c) { c.outputs.max_scores->dtype = DType::kF64; },
       {"max_scores", "f64"}},
      {"integer query", [](Call& c) { c.inputs.query.dtype = DType::kI32; }, {"query", "i32"}},
      {"integer out", [](Call& c) { c.outputs.out.dtype = DType::kI32; }, {"out", "i32"}},
      {"null key", [](Call& c) { c.inputs.key.data = nullptr; }, {"key", "null"}},
      {"null out", [](Call& c) { c.outputs.out.data = nullptr; }, {"out", "null"}},
      {"value elsewhere",
       [](Call& c) { c.inputs.value.device.kind = DeviceKind::kCuda; },
       {"value", "cuda:0", "cpu"}},
      {"out elsewhere",
       [](Call& c) { c.outputs.out.device.kind = DeviceKind::kCuda; },
       {"out", "cuda:0", "cpu"}},
      {"negative extent",
       [](Call& c) {
         c.inputs.key.shape[2] = -1;
         c.inputs.value.shape[2] = -1;
       },
       {"key", "-1"}},
      {"strides of another rank", [](Call& c) { c.inputs.query.strides = {1, 1, 1}; }, {"query"}},
  };
}

TEST(Refusals, EveryMistakeNamesItsTensor) {
  for (const char* backend : {"cpu", "reference"}) {
    EngineOptions options = cpu_options();
    options.backend = backend;
    Engine engine(options);
    for (const Mistake& mistake : mistakes()) {
      SCOPED_TRACE(mistake.name + " on " + backend);
      const Operands operands = [] {
        Extents extents = square(2, 2, 20, 16);
        extents.kv_len = 30;
        return random_operands(extents, DType::kF32, 40);
      }();
      const Results results = results_for(operands.inputs());
      Call made{operands.inputs(), results.outputs()};
      mistake.make(made);
      const Error error = error_of([&] { engine.attention(causal(), made.inputs, made.outputs); });
      EXPECT_TRUE(error.code() == ErrorCode::kInvalidArgument ||
                  error.code() == ErrorCode::kUnsupported);
      for (const std::string& word : mistake.words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
            << "no '" << word << "' in: " << error.what();
      // Nothing ran: outputs still are as they were.
      EXPECT_TRUE(std::isnan(results.out.at({0, 0, 0, 0})));
    }
    EXPECT_EQ(engine.stats().calls, 0);
  }
}

TEST(Refusals, HeadDimsPastTheLimitListWhatIsServed) {
  Engine engine(cpu_options());
  const Operands operands = random_operands(square(1, 1, 4, 513), DType::kF32, 41);
  const Results results = results_for(operands.inputs());
  const Error error =
      error_of([&] { engine.attention(causal(), operands.inputs(), results.outputs()); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_NE(std::string(error.what()).find("512"), std::string::npos);
  EXPECT_NE(std::string(error.what()).find("513"), std::string::npos);
}

TEST(Refusals, RequireFastRefusesTheSlowPath) {
  EngineOptions options = cpu_options();
  options.cpu_isa = "portable";
  const Operands operands = random_operands(square(1, 1, 40, 16), DType::kF32, 42);
  const Results results = results_for(operands.inputs());
  Engine relaxed(options);
  const CallReport report = relaxed.attention(causal(), operands.inputs(), results.outputs());
  EXPECT_TRUE(report.slow_path);
  EXPECT_FALSE(report.path.empty());
  EXPECT_NE(report.kernel.find("portable"), std::string::npos);
  options.require_fast = true;
  Engine strict(options);
  EXPECT_EQ(
      error_of([&] { strict.attention(causal(), operands.inputs(), results.outputs()); }).code(),
      ErrorCode::kUnsupported);
}

TEST(Refusals, AnUnknownBackendOrInstructionSetIsNamed) {
  EngineOptions isa = cpu_options();
  isa.cpu_isa = "avx1024";
  EXPECT_NE(std::string(error_of([&] { Engine engine(isa); }).what()).find("avx1024"),
            std::string::npos);
  EngineOptions backend = cpu_options();
  backend.backend = "tpu";
  const Operands operands = random_operands(square(1, 1, 40, 16), DType::kF32, 43);
  const Error error = error_of([&] {
    Engine engine(backend);
    call(engine, causal(), operands.inputs());
  });
  EXPECT_NE(std::string(error.what()).find("tpu"), std::string::npos);
}

TEST(Refusals, APreparedAttentionKeepsItsClass) {
  Engine engine(cpu_options());
  const Operands operands = random_operands(square(1, 1, 40, 16), DType::kF32, 44);
  const Attention attention = engine.prepare(causal(), problem_of(operands.inputs()));
  for (const Operands& other : {random_operands(square(1, 1, 40, 16), DType::kBF16, 44),
                                random_operands(square(1, 1, 40, 24), DType::kF32, 44)}) {
    const Results results = results_for(other.inputs());
    EXPECT_EQ(error_of([&] { attention.forward(other.inputs(), results.outputs()); }).code(),
              ErrorCode::kInvalidArgument);
  }
}

TEST(Refusals, PositionsOfAShardAreLogical) {
  // The second half of a causal sequence: rows 50.. of 100 against all keys.
  Engine engine(cpu_options());
  const Operands operands = random_operands(square(1, 2, 100, 16), DType::kF32, 45);
  const Results whole = call(engine, causal(), operands.inputs());
  const ForwardInputs shard{slice(operands.query, 2, 50, 100), operands.key.view(),
                            operands.value.view()};
  Problem problem = problem_of(shard);
  problem.q_base = 50;
  const Results half = results_for(shard);
  engine.prepare(causal(), problem).forward(shard, half.outputs());
  for_each_index(half.out.shape(), [&](const Dims& at) {
    EXPECT_NEAR(half.out.at(at), whole.out.at({at[0], at[1], at[2] + 50, at[3]}), 1e-6);
  });
}

}  // namespace
}  // namespace tilewright::cases
