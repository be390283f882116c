// Gradients on a GPU under block lists and key lengths, beside those without: one JSON line a
// problem.
//
//   build/bench/bench_cuda_sparse_backward        (a machine with a GPU)
//
// ms is the median of repeats that are interleaved with the dense call's; a rate counts the 128 x
// 128 tiles that are listed, or the keys that are there, as 2.5 forwards.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "bench/cuda_timing.h"
#include "tilewright/engine.h"

namespace {

using namespace tilewright;         // NOLINT: a program of its own
using namespace tilewright::bench;  // NOLINT

constexpr std::int64_t kTile = 128;

struct Step {
  BackwardInputs inputs;
  BackwardOutputs outputs;
  double pairs = 0;  ///< of queries and keys, all heads and batches
  std::int64_t dim = 0;
};

Step step_of(Memory& memory, const Dims& shape) {
  const Dims rows{shape[0], shape[1], shape[2]};
  const std::vector<float> lse(static_cast<std::size_t>(element_count(rows)), 7.0F);
  return {{memory.random(shape, 1),
           memory.random(shape, 2),
           memory.random(shape, 3),
           memory.random(shape, 4),
           memory.copy(lse, DType::kF32, rows),
           memory.random(shape, 5),
           {}},
          {memory.tensor(DType::kBF16, shape),
           memory.tensor(DType::kBF16, shape),
           memory.tensor(DType::kBF16, shape),
           {}},
          static_cast<double>(element_count(rows)) * static_cast<double>(shape[2]),
          shape[3]};
}

double teraflops(double pairs, std::int64_t dim, double ms) {
  return 10.0 * pairs * static_cast<double>(dim) / ms * 1e-9;
}

/// Lists of one batch and head in tiles of kTile, as they lie on the device.
BlockLists lists_of(Memory& memory, std::int64_t length,
                    const std::vector<std::vector<std::int32_t>>& rows) {
  const std::int64_t blocks = length / kTile;
  std::vector<std::int32_t> counts, none(static_cast<std::size_t>(blocks), 0);
  std::vector<std::int32_t> indices(static_cast<std::size_t>(blocks * blocks));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    counts.push_back(static_cast<std::int32_t>(rows[row].size()));
    std::copy(rows[row].begin(), rows[row].end(),
              indices.begin() + static_cast<std::ptrdiff_t>(row) * blocks);
  }
  BlockLists lists;
  lists.q_len = lists.kv_len = length;
  lists.full_kv_num_blocks = memory.copy(counts, DType::kI32, {1, 1, blocks});
  lists.full_kv_indices = memory.copy(indices, DType::kI32, {1, 1, blocks, blocks});
  lists.kv_num_blocks = memory.copy(none, DType::kI32, {1, 1, blocks});
  lists.kv_indices = *lists.full_kv_indices;
  return lists;
}

/// A share of the blocks of each row, or those up to the diagonal.
std::vector<std::vector<std::int32_t>> rows_of(std::int64_t blocks, double share) {
  std::mt19937 random(7);
  std::vector<std::vector<std::int32_t>> rows;
  for (std::int64_t row = 0; row < blocks; ++row) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(blocks));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
    if (share > 0) std::shuffle(all.begin(), all.end(), random);
    all.resize(share > 0 ? static_cast<std::size_t>(static_cast<double>(blocks) * share)
                         : static_cast<std::size_t>(row + 1));
    rows.push_back(all);
  }
  return rows;
}

struct Bench {
  cuda::Gpu& gpu;
  Engine& engine;

  void run(const std::string& name, const Step& step, const CallOptions& options, double pairs,
           const Step& dense) const {
    for (const bool ordered : {false, true}) {
      CallOptions with = options;
      with.deterministic = ordered;
      std::string kernel;
      const std::vector<double> ms = timed(
          gpu, {[&] {
                  engine.attention_backward(Program(), dense.inputs, dense.outputs,
                                            {.deterministic = ordered});
                },
                [&] {
                  kernel =
                      engine.attention_backward(Program(), step.inputs, step.outputs, with).kernel;
                }});
      const double rate = teraflops(pairs, step.dim, ms[1]);
      const double dense_rate = teraflops(dense.pairs, dense.dim, ms[0]);
      std::printf(
          "{\"kind\": \"cuda_sparse_backward\", \"problem\": \"%s\", \"dim\": %lld, \"ordered\": "
          "%s, \"kernel\": \"%s\", \"ms\": %.3f, \"tflops_of_live\": %.1f, \"dense_tflops\": %.1f, "
          "\"of_dense_rate\": %.3f}\n",
          name.c_str(), static_cast<long long>(step.dim), ordered ? "true" : "false",
          kernel.c_str(), ms[1], rate, dense_rate, rate / dense_rate);
      std::fflush(stdout);
    }
  }

  void listed(const std::string& name, std::int64_t dim, std::int64_t length, double share) const {
    Memory memory(gpu);
    const Step dense = step_of(memory, {1, 16, 8192, dim});
    const Step step = step_of(memory, {1, 16, length, dim});
    const auto rows = rows_of(length / kTile, share);
    std::size_t tiles = 0;
    for (const auto& row : rows) tiles += row.size();
    const BlockLists lists = lists_of(memory, length, rows);
    run(name, step, {.block_lists = &lists},
        16.0 * static_cast<double>(tiles) * static_cast<double>(kTile * kTile), dense);
  }

  void ragged(std::int64_t dim) const {
    Memory memory(gpu);
    constexpr std::int64_t kLength = 4096;
    const std::vector<std::int32_t> lengths = {4096, 100, 3000, 2049, 777, 4000, 1500, 2600};
    const Step dense = step_of(memory, {1, 16, 8192, dim});
    const Step step = step_of(memory, {8, 16, kLength, dim});
    const TensorView table = memory.copy(lengths, DType::kI32, {8});
    double pairs = 0;
    for (const std::int32_t length : lengths) pairs += 16.0 * kLength * length;
    run("8 entries of 100 to 4096 keys", step, {.kv_lengths = &table}, pairs, dense);
  }
};

}  // namespace

int main() {
  std::string why;
  const auto driver = cuda::Driver::open("", why);
  if (!driver) {
    std::printf("{\"kind\": \"cuda_sparse_backward\", \"skipped\": \"%s\"}\n", why.c_str());
    return 0;
  }
  cuda::Gpu gpu(driver, 0);
  Engine engine;
  const Bench bench{gpu, engine};
  for (const std::int64_t dim : {64, 128}) {
    bench.listed("all blocks, 8k", dim, 8192, 1.0);
    bench.listed("blocks up to the diagonal, 8k", dim, 8192, 0);
    bench.listed("random blocks 10 %, 32k", dim, 32768, 0.1);
    bench.ragged(dim);
  }
}
