#include <gtest/gtest.h>

#include <thread>

#include "backends/cpu/jit/score_pass_compiler.h"
#include "tile_harness.h"
#include "tilewright/error.h"
#include "tilewright/program.h"

/// Objects as bytes: stored, loaded again, damaged, and made by many threads.
namespace tilewright::test {
namespace {

const cpu::PassVariant kVariant{.prob = cpu::ProbType::kF32, .fits_int32 = true, .checked = false};

Program windowed() {
  return trace([](Score s, Index, Index, Index, Index) { return tanh(s); },
               [](Index, Index, Index q, Index kv) { return (q >= kv) & (q - kv < 8); });
}

std::string object_of(const Program& program) {
  const analyse::StructureFacts facts = analyse::structure_facts(program.structure());
  return cpu::jit::compile_score_pass(
      {.program = program.structure(), .facts = facts, .variant = kVariant});
}

class Objects : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::jit::is_available()) GTEST_SKIP() << "this build has no LLVM";
  }
};

TEST_F(Objects, AreTheSameBytesEachTime) {
  EXPECT_EQ(object_of(windowed()), object_of(windowed()));
}

TEST_F(Objects, LoadTwiceAndLiveOnTheirOwn) {
  const std::string object = object_of(windowed());
  auto first = cpu::jit::load_score_pass(object);
  const auto second = cpu::jit::load_score_pass(object);
  EXPECT_EQ(first->scratch_bytes_per_column, second->scratch_bytes_per_column);
  first.reset();
  const Program program = windowed();
  TileRunner runner(program.bindings(), kVariant, 1.0);
  RowState state = empty_state(1);
  runner.run(*second, true, {.rows = 1, .cols = 32, .q_begin = 20}, std::vector<double>(32), state);
  EXPECT_EQ(state.sum[0], 8);
}

TEST_F(Objects, DamageIsAnError) {
  const std::string object = object_of(windowed());
  EXPECT_THROW(cpu::jit::load_score_pass(""), Error);
  EXPECT_THROW(cpu::jit::load_score_pass("not an object file"), Error);
  EXPECT_THROW(cpu::jit::load_score_pass(object.substr(0, object.size() / 2)), Error);
}

TEST_F(Objects, CompileAndLoadInManyThreads) {
  std::vector<std::thread> threads;
  std::vector<double> sums(4);
  for (double& sum : sums)
    threads.emplace_back([&sum] {
      const auto pass = cpu::jit::load_score_pass(object_of(windowed()));
      const Program program = windowed();
      TileRunner runner(program.bindings(), kVariant, 1.0);
      RowState state = empty_state(1);
      runner.run(*pass, true, {.rows = 1, .cols = 32, .q_begin = 20}, std::vector<double>(32),
                 state);
      sum = state.sum[0];
    });
  for (std::thread& thread : threads) thread.join();
  for (const double sum : sums) EXPECT_EQ(sum, 8);
}

TEST_F(Objects, IrTextShowsBothFunctions) {
  const Program program = windowed();
  const analyse::StructureFacts facts = analyse::structure_facts(program.structure());
  const std::string text = cpu::jit::ir_text(
      *cpu::jit::emit_pass({.program = program.structure(), .facts = facts, .variant = kVariant}));
  EXPECT_NE(text.find("@score_pass_full"), std::string::npos);
  EXPECT_NE(text.find("@score_pass_masked"), std::string::npos);
}

TEST_F(Objects, EveryInstructionSetCompilesOnEveryCpu) {
  const Program program = windowed();
  const analyse::StructureFacts facts = analyse::structure_facts(program.structure());
  for (const cpu::Isa isa : {cpu::Isa::kPortable, cpu::Isa::kAvx2, cpu::Isa::kAvx512,
                             cpu::Isa::kAvx512Bf16, cpu::Isa::kAmx})
    for (const cpu::ProbType prob : {cpu::ProbType::kF32, cpu::ProbType::kBF16}) {
      const cpu::PassVariant variant{.prob = prob, .fits_int32 = true, .checked = true};
      const std::string object = cpu::jit::compile_score_pass(
          {.program = program.structure(), .facts = facts, .variant = variant, .isa = isa});
      EXPECT_FALSE(object.empty());
    }
}

}  // namespace
}  // namespace tilewright::test
