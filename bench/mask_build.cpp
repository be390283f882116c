// Building mask maps: how long spans and pyramids take on one core, and how much memory they keep.
// Targets: 1,048,576 tokens causal, window 4096 and 1,000 packed documents 20 ms and 4 MB each;
// 100,000 x 100,000 with 64 documents in each of 8 batch rows 50 ms.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "analyse/tile_class.h"
#include "tilewright/mask_map.h"
#include "tilewright/program.h"

namespace tilewright {
namespace {

constexpr std::int64_t kMillion = 1 << 20;

Program causal() {
  return trace([](Index, Index, Index q, Index kv) { return q >= kv; });
}

Program windowed(std::int64_t keys) {
  return trace([=](Index, Index, Index q, Index kv) { return q >= kv && q - kv < keys; });
}

/// Ids of documents whose lengths vary by the golden ratio around the mean.
std::vector<std::int32_t> document_ids(std::int64_t tokens, std::int64_t documents) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
  const double mean = static_cast<double>(tokens) / static_cast<double>(documents);
  double phase = 0;
  double end = 0;
  std::int64_t begin = 0;
  for (std::int64_t document = 0; document < documents; ++document) {
    phase += 0.6180339887498949;
    phase -= static_cast<double>(static_cast<std::int64_t>(phase));
    end += mean * (0.5 + phase);
    const std::int64_t last =
        document + 1 == documents ? tokens : std::min(tokens, static_cast<std::int64_t>(end));
    for (; begin < last; ++begin)
      ids[static_cast<std::size_t>(begin)] = static_cast<std::int32_t>(document);
  }
  return ids;
}

void report(benchmark::State& state, const MaskMap& map) {
  state.counters["spans"] = static_cast<double>(map.span_count());
  state.counters["bytes"] = static_cast<double>(map.bytes());
  state.counters["evaluations"] = static_cast<double>(map.evaluations());
  state.counters["over_budget"] = static_cast<double>(map.blocks_over_budget());
}

void build(benchmark::State& state, const Program& program, const MaskMapOptions& options) {
  for (auto _ : state) benchmark::DoNotOptimize(MaskMap::build(program, options));
  report(state, MaskMap::build(program, options));
}

void count_live(benchmark::State& state, const Program& program, const MaskMapOptions& options) {
  for (auto _ : state) benchmark::DoNotOptimize(MaskMap::build(program, options).live_pairs());
}

void classify(benchmark::State& state, const Program& program, const analyse::TileRange& tile) {
  const analyse::TileClassifier classifier(program.structure(), program.bindings());
  for (auto _ : state) benchmark::DoNotOptimize(classifier.classify_once(tile));
}

MaskMapOptions square(std::int64_t tokens) { return {.q_len = tokens, .kv_len = tokens}; }

void causal_million(benchmark::State& state) { build(state, causal(), square(kMillion)); }
void window_million(benchmark::State& state) { build(state, windowed(4096), square(kMillion)); }
void causal_million_live(benchmark::State& state) { count_live(state, causal(), square(kMillion)); }

void documents_million(benchmark::State& state) {
  std::vector<std::int32_t> ids = document_ids(kMillion, 1000);
  const Capture doc("doc", contiguous(ids.data(), DType::kI32, {kMillion}));
  build(state, trace([&](Index, Index, Index q, Index kv) { return Index(doc[q]) == doc[kv]; }),
        square(kMillion));
}

void causal_documents_million(benchmark::State& state) {
  std::vector<std::int32_t> ids = document_ids(kMillion, 1000);
  const Capture doc("doc", contiguous(ids.data(), DType::kI32, {kMillion}));
  build(state,
        trace([&](Index, Index, Index q, Index kv) { return q >= kv && Index(doc[q]) == doc[kv]; }),
        square(kMillion));
}

void documents_8_rows(benchmark::State& state) {
  constexpr std::int64_t kTokens = 100000;
  std::vector<std::int32_t> ids;
  for (int row = 0; row < 8; ++row) {
    const auto of_row = document_ids(kTokens, 64);
    ids.insert(ids.end(), of_row.begin(), of_row.end());
  }
  const Capture doc("doc", contiguous(ids.data(), DType::kI32, {8, kTokens}));
  build(state,
        trace([&](Index b, Index, Index q, Index kv) { return Index(doc[b][q]) == doc[b][kv]; }),
        {.batch = 8, .q_len = kTokens, .kv_len = kTokens});
}

void classify_causal(benchmark::State& state) {
  classify(state, causal(), {.b = 0, .h = 0, .q = {4096, 4224}, .kv = {4096, 4224}});
}
void classify_window(benchmark::State& state) {
  classify(state, windowed(1024), {.b = 0, .h = 0, .q = {4096, 4224}, .kv = {3072, 3200}});
}

BENCHMARK(causal_million)->Unit(benchmark::kMillisecond);
BENCHMARK(window_million)->Unit(benchmark::kMillisecond);
BENCHMARK(documents_million)->Unit(benchmark::kMillisecond);
BENCHMARK(causal_documents_million)->Unit(benchmark::kMillisecond);
BENCHMARK(documents_8_rows)->Unit(benchmark::kMillisecond);
BENCHMARK(causal_million_live)->Unit(benchmark::kMillisecond);
BENCHMARK(classify_causal);
BENCHMARK(classify_window);

}  // namespace
}  // namespace tilewright

BENCHMARK_MAIN();
