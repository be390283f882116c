// Forward on a GPU with masks that leave most of a long sequence out, beside the dense kernel: one
// JSON line a problem and way of saying the mask.
//
//   build/bench/bench_cuda_sparse        (a machine with a GPU)
//
// ms is the median of repeats that are interleaved with the dense call's, each of as many calls as
// take some 20 ms, so that neither the wait for the end nor an idle clock counts; a rate counts the
// 128 x 128 tiles that hold a live pair. map_ms and map_bytes are of the map that the device makes.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "bench/cuda_timing.h"
#include "tilewright/engine.h"
#include "tilewright/mask_map.h"

namespace {

using namespace tilewright;         // NOLINT: a program of its own
using namespace tilewright::bench;  // NOLINT

constexpr std::int64_t kTile = 128, kDim = 128;

struct CallTensors {
  ForwardInputs inputs;
  ForwardOutputs outputs;
};

CallTensors tensors_of(Memory& memory, std::int64_t heads, std::int64_t length) {
  const Dims shape{1, heads, length, kDim};
  return {{memory.random(shape, 1), memory.random(shape, 2), memory.random(shape, 3)},
          {.out = memory.tensor(DType::kBF16, shape), .lse = {}, .max_scores = {}}};
}

double teraflops(double tiles, std::int64_t heads, double ms) {
  return 4.0 * tiles * kTile * kTile * kDim * static_cast<double>(heads) / ms * 1e-9;
}

struct Measured {
  std::string problem, way, kernel;
  double tiles = 0;
  std::int64_t heads = 1;
  double ms = 0;
};

void print(const Measured& of, double dense) {
  const double rate = teraflops(of.tiles, of.heads, of.ms);
  std::printf(
      "{\"kind\": \"cuda_sparse\", \"problem\": \"%s\", \"heads\": %lld, \"way\": \"%s\", "
      "\"kernel\": \"%s\", \"live_tiles\": %.0f, \"ms\": %.3f, \"tflops_of_live_tiles\": %.1f, "
      "\"of_dense_rate\": %.3f}\n",
      of.problem.c_str(), static_cast<long long>(of.heads), of.way.c_str(), of.kernel.c_str(),
      of.tiles, of.ms, rate, rate / dense);
  std::fflush(stdout);
}

/// The dense call that rates are held against.
struct Dense {
  static constexpr std::int64_t kHeads = 16, kLength = 16384;
  explicit Dense(Memory& memory) : at(tensors_of(memory, kHeads, kLength)) {}
  double rate(double ms) const {
    const double tiles = static_cast<double>(kLength) / kTile;
    return teraflops(tiles * tiles, kHeads, ms);
  }
  CallTensors at;
};

struct Ways {
  cuda::Gpu& gpu;
  Engine& engine;
  const Dense& dense;
};

void block_sparse(const Ways& bench, Memory& memory) {
  constexpr std::int64_t kHeads = 16, kLength = 32768, kBlocks = kLength / kTile;
  const CallTensors at = tensors_of(memory, kHeads, kLength);
  std::mt19937 random(7);
  std::vector<std::int32_t> counts, indices(kBlocks * kBlocks), none(kBlocks, 0);
  std::vector<std::int32_t> all(kBlocks);
  for (std::int32_t i = 0; i < kBlocks; ++i) all[static_cast<std::size_t>(i)] = i;
  constexpr std::int64_t kKept = kBlocks / 10;
  for (std::int64_t row = 0; row < kBlocks; ++row) {
    std::shuffle(all.begin(), all.end(), random);
    counts.push_back(kKept);
    std::copy_n(all.begin(), kKept, indices.begin() + row * kBlocks);
  }
  BlockLists lists;
  lists.q_len = lists.kv_len = kLength;
  lists.full_kv_num_blocks = memory.copy(counts, DType::kI32, {1, 1, kBlocks});
  lists.full_kv_indices = memory.copy(indices, DType::kI32, {1, 1, kBlocks, kBlocks});
  lists.kv_num_blocks = memory.copy(none, DType::kI32, {1, 1, kBlocks});
  lists.kv_indices = *lists.full_kv_indices;
  std::string kernel;
  const std::vector<double> ms = timed(
      bench.gpu,
      {[&] { bench.engine.attention(Program(), bench.dense.at.inputs, bench.dense.at.outputs); },
       [&] {
         kernel =
             bench.engine
                 .attention(Program(), at.inputs, at.outputs, {.scale = {}, .block_lists = &lists})
                 .kernel;
       }});
  print({"random blocks 10 %, 32k", "block lists", kernel, static_cast<double>(kBlocks * kKept),
         kHeads, ms[1]},
        bench.dense.rate(ms[0]));
}

struct Mask {
  std::string name;
  Program on_host, on_device;
  std::int64_t length = 0;
};

/// Only the map, of a mask whose products would take too long.
void map_alone(const Ways& bench, Memory& memory, const Mask& mask) {
  const auto& [name, on_host, program, length] = mask;
  const DeviceMaskMapOptions options{.q_len = length, .kv_len = length};
  const std::size_t bytes = DeviceMaskMap::bytes_for(program, options);
  const DeviceMaskMap made(program, options,
                           memory.tensor(DType::kU8, {static_cast<std::int64_t>(bytes)}));
  const CallTensors at = tensors_of(memory, 1, length);
  const tilewright::Problem problem = problem_from(at.inputs, at.outputs);
  const std::vector<double> ms =
      timed(bench.gpu, {[&] { bench.engine.build_mask_map(made, problem); }});
  std::printf(
      "{\"kind\": \"cuda_map\", \"problem\": \"%s\", \"map_ms\": %.3f, \"map_bytes\": %zu}\n",
      name.c_str(), ms[0], bytes);
  std::fflush(stdout);
}

/// A mask by the kernel's own search, by a map of the host and by one of the device.
void masked(const Ways& bench, Memory& memory, const Mask& mask) {
  const std::int64_t length = mask.length;
  const std::int64_t heads = length > 500000 ? 2 : 8;
  const CallTensors at = tensors_of(memory, heads, length);
  const MaskMap map = MaskMap::build(mask.on_host, {.q_len = length, .kv_len = length});
  const TileCounts counts = map.count_tiles(kTile, kTile);
  const double tiles = static_cast<double>(counts.partial + counts.full);
  const DeviceMaskMapOptions options{.q_len = length, .kv_len = length};
  const std::size_t bytes = DeviceMaskMap::bytes_for(mask.on_device, options);
  const DeviceMaskMap made(mask.on_device, options,
                           memory.tensor(DType::kU8, {static_cast<std::int64_t>(bytes)}));
  const tilewright::Problem problem = problem_from(at.inputs, at.outputs);
  std::string kernels[3];
  const auto call = [&](int way, const CallOptions& with) {
    kernels[way] = bench.engine.attention(mask.on_device, at.inputs, at.outputs, with).kernel;
  };
  const std::vector<double> ms = timed(
      bench.gpu,
      {[&] { bench.engine.attention(Program(), bench.dense.at.inputs, bench.dense.at.outputs); },
       [&] { bench.engine.build_mask_map(made, problem); }, [&] { call(0, {}); },
       [&] { call(1, {.scale = {}, .mask_map = &map}); },
       [&] { call(2, {.scale = {}, .device_map = &made}); }});
  const char* const ways[] = {"mask alone", "map of the host", "map of the device"};
  for (int way = 0; way < 3; ++way)
    print({mask.name, ways[way], kernels[way], tiles, heads, ms[static_cast<std::size_t>(way) + 2]},
          bench.dense.rate(ms[0]));
  std::printf(
      "{\"kind\": \"cuda_map\", \"problem\": \"%s\", \"map_ms\": %.3f, \"map_bytes\": %zu}\n",
      mask.name.c_str(), ms[1], bytes);
  std::fflush(stdout);
}

Program window() {
  return trace(
      [](Index, Index, Index q, Index kv) { return q >= kv && q - kv < Number("window", 1024); });
}

Program documents(const TensorView& table) {
  const Capture document("doc", table);
  return trace([document](Index, Index, Index q, Index kv) {
    return Index(document[q]) == Index(document[kv]) && q >= kv;
  });
}

/// Documents of random lengths.
std::vector<std::int32_t> table_of(std::int64_t length, std::int64_t count) {
  std::mt19937 random(5);
  std::vector<std::int64_t> ends(static_cast<std::size_t>(count) - 1);
  for (std::int64_t& end : ends) end = static_cast<std::int64_t>(random()) % length;
  std::sort(ends.begin(), ends.end());
  std::vector<std::int32_t> table(static_cast<std::size_t>(length));
  std::size_t at = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    while (at < ends.size() && ends[at] <= i) ++at;
    table[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(at);
  }
  return table;
}

void at_length(const Ways& bench, std::int64_t length, std::int64_t count,
               const std::string& name) {
  Memory memory(bench.gpu);
  masked(bench, memory, {"window 1024, " + name, window(), window(), length});
  const std::vector<std::int32_t> table = table_of(length, count);
  const TensorView host =
      contiguous(const_cast<std::int32_t*>(table.data()), DType::kI32, {length});
  masked(bench, memory,
         {std::to_string(count) + " documents, " + name, documents(host),
          documents(memory.copy(table, DType::kI32, {length})), length});
}

}  // namespace

int main() {
  std::string why;
  const auto driver = cuda::Driver::open("", why);
  if (!driver) {
    std::printf("{\"kind\": \"cuda_sparse\", \"skipped\": \"%s\"}\n", why.c_str());
    return 0;
  }
  cuda::Gpu gpu(driver, 0);
  Engine engine;
  Memory memory(gpu);
  const Dense dense(memory);
  const Ways bench{gpu, engine, dense};
  {
    Memory own(gpu);
    block_sparse(bench, own);
  }
  at_length(bench, 131072, 64, "128k");
  at_length(bench, 1048576, 1000, "1M");
  Memory own(gpu);
  const Program causal = trace([](Index, Index, Index q, Index kv) { return q >= kv; });
  masked(bench, own, {"causal, 128k", causal, causal, 131072});
  map_alone(bench, own, {"causal, 1M", causal, causal, 1048576});
}
