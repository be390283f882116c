// Host time of a prepared call on the CPU: one head, a few keys, so that the arithmetic is far
// below a microsecond. What remains is checking, looking up, cutting items, lending memory and
// writing rows.
//
//   bench_launch_overhead [--json]
//
// Medians over batches of 1,000 calls of one thread, by its own CPU time. "direct" rows read keys
// in place, "packed" rows go through packing and a tile.

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "register_peak.h"
#include "tilewright/engine.h"

namespace {

using namespace tilewright;

constexpr int kBatches = 41;
constexpr int kCallsPerBatch = 1000;

struct OverheadCase {
  const char* name;
  const char* text;
  std::int64_t tokens;
};

const OverheadCase kCases[] = {
    {"direct, no mods", "", 2},
    {"direct, causal", "q >= kv", 2},
    {"direct, soft cap", "score = 20.0 * tanh(score / 20.0)", 2},
    {"packed, causal", "q >= kv", 8},
    {"packed, documents", "capture doc: i32[1]\ndoc[q] == doc[kv]", 8},
};

double median_us(const Attention& call, const ForwardInputs& inputs,
                 const ForwardOutputs& outputs) {
  std::vector<double> samples;
  for (int batch = 0; batch < kBatches; ++batch) {
    const double begin = bench::thread_seconds();
    for (int i = 0; i < kCallsPerBatch; ++i) call.forward(inputs, outputs);
    samples.push_back(1e6 * (bench::thread_seconds() - begin) / kCallsPerBatch);
  }
  return bench::spread_of(std::move(samples)).median;
}

void run(const OverheadCase& each, bool json) {
  constexpr std::int64_t kDim = 16;
  std::vector<float> memory(static_cast<std::size_t>(4 * each.tokens * kDim), 0.5F);
  std::vector<std::int32_t> doc(static_cast<std::size_t>(each.tokens), 1);
  const auto view = [&](std::int64_t tensor) {
    return contiguous(memory.data() + tensor * each.tokens * kDim, DType::kF32,
                      {1, 1, each.tokens, kDim});
  };
  const ForwardInputs inputs{view(0), view(1), view(2)};
  const ForwardOutputs outputs{.out = view(3), .lse = {}, .max_scores = {}};
  Program program = Program::parse(each.text);
  if (!program.capture_names().empty())
    program.bind("doc", contiguous(doc.data(), DType::kI32, {each.tokens}));
  Engine engine;
  const Attention call = engine.prepare(program, problem_from(inputs, outputs));
  call.forward(inputs, outputs);
  const double us = median_us(call, inputs, outputs);
  const char* const format =
      json ? "{\"case\":\"%s\",\"tokens\":%ld,\"host_us\":%.3f}\n" : "%-20s %ld tokens %8.3f us\n";
  std::printf(format, each.name, static_cast<long>(each.tokens), us);
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  for (const OverheadCase& each : kCases) run(each, json);
  return 0;
}
