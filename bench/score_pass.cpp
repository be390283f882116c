// Clocks per score of the CPU score pass, mods x variants, one tile over and over from the first
// level caches: what the pass adds to the two matrix products of a tile.
//
//   bench_score_pass [--benchmark_filter=avx2]
//
// clocks_per_score is the least time of any iteration in ticks of the time stamp counter;
// compile_ms is the JIT's time for both functions, load_ms the time to make them runnable.

#include <benchmark/benchmark.h>
#include <x86intrin.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "analyse/facts.h"
#include "backends/cpu/jit/score_pass_compiler.h"
#include "backends/cpu/microkernels.h"
#include "backends/cpu/tile_interpreter.h"
#include "ir/program.h"
#include "tilewright/program.h"

namespace {

using namespace tilewright;

constexpr std::int64_t kRows = 64;
constexpr std::int64_t kCols = 128;
constexpr std::int64_t kLength = 4096;

/// Tables that the mods capture.
struct Tables {
  std::vector<float> slopes = std::vector<float>(16, -0.125F);
  std::vector<std::int32_t> documents = std::vector<std::int32_t>(kLength);
  std::vector<float> bias = std::vector<float>(kLength * kLength / 16);
  std::vector<float> relative = std::vector<float>(2 * kLength);
  Tables() {
    for (std::size_t i = 0; i < documents.size(); ++i)
      documents[i] = static_cast<std::int32_t>(i / 100);
  }
};

struct Mod {
  std::string name;
  Program program;
  bool masked = false;
};

std::vector<Mod> mods(Tables& tables) {
  const Capture slopes("slopes", contiguous(tables.slopes.data(), DType::kF32, {16}));
  const Capture documents("doc", contiguous(tables.documents.data(), DType::kI32, {kLength}));
  const Capture bias("bias", contiguous(tables.bias.data(), DType::kF32, {kLength / 16, kLength}));
  const Capture relative("rel", contiguous(tables.relative.data(), DType::kF32, {2 * kLength}));
  const auto causal = [](Index, Index, Index q, Index kv) { return q >= kv; };
  const auto window = [](Index, Index, Index q, Index kv) { return (q >= kv) & (q - kv < 64); };
  const auto document = [&](Index, Index, Index q, Index kv) {
    return documents(q) == documents(kv);
  };
  const auto soft_cap = [](Score s, Index, Index, Index, Index) { return 20.0 * tanh(s / 20.0); };
  const auto alibi = [&](Score s, Index, Index h, Index q, Index kv) {
    return s + slopes(h) * (q - kv);
  };
  const auto biased = [&](Score s, Index, Index, Index q, Index kv) { return s + bias(q, kv); };
  const auto shifted = [&](Score s, Index, Index, Index q, Index kv) {
    return s + relative(q - kv + kLength);
  };
  return {{"plain", Program()},
          {"causal", trace(causal), true},
          {"window", trace(window), true},
          {"document", trace(document), true},
          {"soft_cap", trace(soft_cap)},
          {"soft_cap_causal", trace(soft_cap, causal), true},
          {"alibi", trace(alibi)},
          {"alibi_causal", trace(alibi, causal), true},
          {"bias_table", trace(biased)},
          {"relative_table", trace(shifted)}};
}

/// A tile in the middle of the sequence, on the diagonal.
class TileMemory {
 public:
  TileMemory(const ir::Bindings& bindings, const cpu::LoadedPass& pass)
      : scratch_(static_cast<std::size_t>(pass.column_scratch_bytes(kCols)) + 64) {
    for (const TensorView& view : bindings.captures)
      captures_.push_back(
          {.data = view.data, .extents = view.shape.data(), .strides = view.strides.data()});
    for (const ir::NumberValue& number : bindings.numbers) {
      cpu::PassNumber value{.real = number.real};
      if (number.integer != 0) value.integer = number.integer;
      numbers_.push_back(value);
    }
    call_ = {.captures = captures_.data(), .numbers = numbers_.data(), .scale = 0.125};
    const auto misaligned = reinterpret_cast<std::uintptr_t>(scratch_.data()) % 64;
    tile_ = {.score = score_.data(),
             .prob = prob_.data(),
             .score_stride = kCols,
             .prob_stride = kCols,
             .rows = kRows,
             .col_end = kCols,
             .prob_cols = kCols,
             .q_begin = 128,
             .kv_begin = 64,
             .row_max = max_.data(),
             .row_shift = shift_.data(),
             .row_sum = sum_.data(),
             .row_alpha = alpha_.data(),
             .column_scratch = scratch_.data() + (64 - misaligned) % 64,
             .fault = &fault_};
  }

  /// Ticks of one run on fresh scores.
  std::uint64_t ticks(const cpu::LoadedPass::Run& run) {
    for (std::size_t i = 0; i < score_.size(); ++i)
      score_[i] = static_cast<double>(static_cast<float>(i * 37 % 251)) / 16;
    auto* const singles = reinterpret_cast<float*>(score_.data());
    for (std::int64_t i = 0; i < kRows * kCols; ++i)
      singles[i] = static_cast<float>(i * 37 % 251) / 16 - 8;
    std::fill(max_.begin(), max_.end(), 0.0);
    std::fill(shift_.begin(), shift_.end(), 0.0);
    const std::uint64_t begin = __rdtsc();
    run(&call_, &tile_);
    return __rdtsc() - begin;
  }

 private:
  std::vector<double> score_ = std::vector<double>(kRows * kCols);
  std::vector<double> prob_ = std::vector<double>(kRows * kCols);
  std::vector<double> max_ = std::vector<double>(kRows), shift_ = max_, sum_ = max_, alpha_ = max_;
  std::vector<char> scratch_;
  std::vector<cpu::PassCapture> captures_;
  std::vector<cpu::PassNumber> numbers_;
  cpu::PassFault fault_;
  cpu::PassCall call_;
  cpu::PassTile tile_;
};

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

struct Engine {
  std::string name;
  bool is_jit = false;
  cpu::Isa isa = cpu::Isa::kPortable;
};

void measure(benchmark::State& state, const Mod& mod, const Engine& engine,
             const cpu::PassVariant& variant) {
  const ir::Program& program = mod.program.structure();
  const analyse::StructureFacts facts = analyse::structure_facts(program);
  const auto begin = std::chrono::steady_clock::now();
  std::shared_ptr<const cpu::LoadedPass> pass;
  if (engine.is_jit) {
    const std::string object = cpu::jit::compile_score_pass(
        {.program = program, .facts = facts, .variant = variant, .isa = engine.isa});
    state.counters["compile_ms"] = milliseconds_since(begin);
    const auto loading = std::chrono::steady_clock::now();
    pass = cpu::jit::load_score_pass(object);
    state.counters["load_ms"] = milliseconds_since(loading);
  } else {
    pass = cpu::interpret_score_pass(program, variant);
  }
  TileMemory memory(mod.program.bindings(), *pass);
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (auto _ : state)
    least = std::min(least, memory.ticks(mod.masked ? pass->masked : pass->full));
  state.counters["clocks_per_score"] =
      static_cast<double>(least) / static_cast<double>(kRows * kCols);
}

std::vector<Engine> engines() {
  std::vector<Engine> all = {{.name = "interpreter"}};
  if (!cpu::jit::is_available()) return all;
  for (const cpu::Isa isa :
       {cpu::Isa::kPortable, cpu::Isa::kAvx2, cpu::Isa::kAvx512, cpu::Isa::kAvx512Bf16})
    if (!cpu::missing_feature(isa, cpu::cpu_features()))
      all.push_back({.name = std::string(cpu::isa_name(isa)), .is_jit = true, .isa = isa});
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  static Tables tables;
  static const std::vector<Mod> all_mods = mods(tables);
  const std::vector<std::pair<std::string, cpu::PassVariant>> variants = {
      {"f32", {.prob = cpu::ProbType::kF32, .fits_int32 = true, .checked = false}},
      {"f32_checked", {.prob = cpu::ProbType::kF32, .fits_int32 = true, .checked = true}},
      {"f32_int64", {.prob = cpu::ProbType::kF32, .fits_int32 = false, .checked = false}},
      {"bf16", {.prob = cpu::ProbType::kBF16, .fits_int32 = true, .checked = false}},
      {"f64",
       {.is_f64 = true, .prob = cpu::ProbType::kF64, .fits_int32 = false, .checked = false}}};
  for (const Engine& engine : engines())
    for (const auto& [name, variant] : variants)
      for (const Mod& mod : all_mods)
        benchmark::RegisterBenchmark((engine.name + "/" + name + "/" + mod.name).c_str(),
                                     [&mod, engine, variant = variant](benchmark::State& state) {
                                       measure(state, mod, engine, variant);
                                     })
            ->MinTime(0.02);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
