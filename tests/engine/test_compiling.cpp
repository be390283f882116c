// When the engine compiles, and when it must not.

#include <mutex>
#include <string>
#include <vector>

#include "engine/calls.h"

namespace tilewright::cases {
namespace {

TEST(Compiling, ASecondCallFindsTheKernel) {
  Engine engine(cpu_options());
  const Operands operands = random_operands(square(1, 2, 100, 32), DType::kF32, 1);
  call(engine, causal(), operands.inputs());
  const EngineStats first = engine.stats();
  EXPECT_GE(first.compiles, 1);
  EXPECT_GT(first.compile_ms, 0);
  call(engine, causal(), operands.inputs());
  const EngineStats second = engine.stats();
  EXPECT_EQ(second.compiles, first.compiles);
  EXPECT_GT(second.memory_hits, first.memory_hits);
  EXPECT_EQ(second.calls, 2);
  ASSERT_EQ(second.kernels.size(), 1U);
  EXPECT_EQ(second.kernels[0].calls, 2);
  EXPECT_GT(second.workspace_bytes_peak, 0U);
}

TEST(Compiling, NumbersLengthsAndStridesNeverCompile) {
  Engine engine(cpu_options());
  const auto window = [](std::int64_t width) {
    const Number w("width", width);
    return trace([&](Index, Index, Index q, Index kv) { return (q >= kv) & (q - kv < w); });
  };
  const Operands operands = random_operands(square(1, 2, 150, 32), DType::kF32, 2);
  call(engine, window(10), operands.inputs());
  const std::int64_t compiles = engine.stats().compiles;
  for (const std::int64_t width : {11, 64, 1000})
    EXPECT_EQ(
        mismatch(call(engine, window(width), operands.inputs()), window(width), operands.inputs()),
        "");
  for (const std::int64_t length : {1, 2, 149, 333}) {
    const Operands other =
        random_operands(square(2, 4, length, 32), DType::kF32, 3, Layout::kSliced);
    EXPECT_EQ(mismatch(call(engine, window(7), other.inputs()), window(7), other.inputs()), "");
  }
  EXPECT_EQ(engine.stats().compiles, compiles);
}

TEST(Compiling, OneStructureHasAtMostFourVariants) {
  Engine engine(cpu_options());
  Tensor table(DType::kI32, {64});
  table.fill([](const Dims& at) { return static_cast<double>(at[0]); });
  const Capture position("position", table);
  for (const std::int64_t big : {std::int64_t{3}, std::int64_t{1} << 40, std::int64_t{-1} << 50}) {
    const Number n("n", big);
    const Program program = trace([&](Index, Index, Index q, Index kv) {
      return Index(position[floor_mod(q * n, 64)]) <= kv + n;
    });
    const Operands operands = random_operands(square(1, 1, 130, 16), DType::kF32, 4);
    EXPECT_EQ(mismatch(call(engine, program, operands.inputs()), program, operands.inputs()), "");
  }
  EXPECT_LE(engine.stats().compiles, 4);
}

TEST(Compiling, ForbidRefusesWhatWasNotPrepared) {
  EngineOptions options = cpu_options();
  options.compile_policy = CompilePolicy::kForbid;
  Engine engine(options);
  const Operands operands = random_operands(square(1, 1, 90, 32), DType::kF32, 5);
  const Results results = results_for(operands.inputs());
  const Error error =
      error_of([&] { engine.attention(causal(), operands.inputs(), results.outputs()); });
  EXPECT_EQ(error.code(), ErrorCode::kCompileForbidden);
  const Attention attention = engine.prepare(causal(), problem_of(operands.inputs()));
  attention.forward(operands.inputs(), results.outputs());
  EXPECT_EQ(mismatch(results, causal(), operands.inputs()), "");
  // What is prepared also serves calls that do not name it.
  engine.attention(causal(), operands.inputs(), results.outputs());
}

TEST(Compiling, PreparingCompilesEverythingThatCallsCanNeed) {
  EngineOptions options = cpu_options();
  options.compile_policy = CompilePolicy::kForbid;
  Engine engine(options);
  Tensor table(DType::kI32, {300});
  table.fill([](const Dims& at) { return static_cast<double>(at[0] / 50); });
  const Capture document("document", table);
  const Number wide("wide", 5);
  const Program program = trace([&](Index, Index, Index q, Index kv) {
    return (Index(document[q]) == Index(document[kv])) | (q * wide < kv);
  });
  Attention attention = engine.prepare(
      program, problem_of(random_operands(square(1, 1, 90, 32), DType::kF32, 6).inputs()));
  const std::int64_t compiles = engine.stats().compiles;
  for (const std::int64_t length : {1, 40, 300})
    for (const std::int64_t number : {std::int64_t{5}, std::int64_t{1} << 45}) {
      const Operands operands = random_operands(square(2, 2, length, 32), DType::kF32, 7);
      attention.set("wide", number);
      const Results results = results_for(operands.inputs());
      attention.forward(operands.inputs(), results.outputs());
      EXPECT_EQ(mismatch(results, attention.program(), operands.inputs()), "");
    }
  EXPECT_EQ(engine.stats().compiles, compiles);
}

TEST(Compiling, WarnSaysSoAndRuns) {
  EngineOptions options = cpu_options();
  options.compile_policy = CompilePolicy::kWarn;
  std::mutex mutex;
  std::vector<std::string> warnings;
  options.host.log = [&](LogLevel level, std::string_view message) {
    const std::lock_guard lock(mutex);
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  };
  Engine engine(options);
  const Operands operands = random_operands(square(1, 1, 90, 32), DType::kF32, 8);
  EXPECT_EQ(mismatch(call(engine, causal(), operands.inputs()), causal(), operands.inputs()), "");
  EXPECT_EQ(warnings.size(), 1U);
  call(engine, causal(), operands.inputs());
  EXPECT_EQ(warnings.size(), 1U);
}

TEST(Compiling, AsyncPreparingBecomesReady) {
  Engine engine(cpu_options());
  const Operands operands = random_operands(square(1, 1, 90, 32), DType::kF32, 9);
  const Attention attention = engine.prepare(causal(), problem_of(operands.inputs()), true);
  attention.wait();
  EXPECT_TRUE(attention.ready());
  const Results results = results_for(operands.inputs());
  attention.forward(operands.inputs(), results.outputs());
  EXPECT_EQ(mismatch(results, causal(), operands.inputs()), "");
}

TEST(Compiling, SynchronousPreparingIsReadyAtOnce) {
  Engine engine(cpu_options());
  const Operands operands = random_operands(square(1, 1, 90, 32), DType::kF32, 10);
  EXPECT_TRUE(engine.prepare(causal(), problem_of(operands.inputs())).ready());
}

TEST(Compiling, EnginesShareNothing) {
  Engine a(cpu_options()), b(cpu_options());
  const Operands operands = random_operands(square(1, 1, 60, 32), DType::kF32, 11);
  call(a, causal(), operands.inputs());
  EXPECT_EQ(b.stats().calls, 0);
  EXPECT_EQ(b.stats().compiles, 0);
  call(b, causal(), operands.inputs());
  EXPECT_GE(b.stats().compiles, 1);
}

TEST(Compiling, AnAttentionOutlivesItsEngine) {
  const Operands operands = random_operands(square(1, 1, 60, 32), DType::kF32, 12);
  std::optional<Attention> attention;
  {
    Engine engine(cpu_options());
    attention.emplace(engine.prepare(causal(), problem_of(operands.inputs()), true));
  }
  const Results results = results_for(operands.inputs());
  attention->forward(operands.inputs(), results.outputs());
  EXPECT_EQ(mismatch(results, causal(), operands.inputs()), "");
}

}  // namespace
}  // namespace tilewright::cases
