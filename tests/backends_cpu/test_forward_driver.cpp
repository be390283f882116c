#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "backends/cpu/forward_call.h"
#include "backends/cpu/worker_pool.h"
#include "backends/cpu/workspace.h"
#include "backends/reference/forward.h"
#include "backends_cpu/plain_pass.h"
#include "tilewright/program.h"

namespace tilewright::cpu {
namespace {

struct Shape {
  std::int64_t batch, kv_batch, heads, kv_heads, q_len, kv_len, head_dim, value_dim;
};

/// Owns the tensors of one problem in fp32: inputs random, outputs poisoned.
struct Tensors {
  Tensors(const Shape& shape, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    const auto make = [&](std::vector<float>& memory, const Dims& dims) {
      memory.resize(static_cast<std::size_t>(element_count(dims)) + 1);
      for (float& value : memory) value = normal(generator);
      return contiguous(memory.data(), DType::kF32, dims);
    };
    inputs.query = make(query, {shape.batch, shape.heads, shape.q_len, shape.head_dim});
    inputs.key = make(key, {shape.kv_batch, shape.kv_heads, shape.kv_len, shape.head_dim});
    inputs.value = make(value, {shape.kv_batch, shape.kv_heads, shape.kv_len, shape.value_dim});
    outputs = poisoned(out, lse, shape);
    expected = poisoned(expected_out, expected_lse, shape);
  }

  static ForwardOutputs poisoned(std::vector<float>& out, std::vector<float>& lse,
                                 const Shape& shape) {
    const Dims dims{shape.batch, shape.heads, shape.q_len, shape.value_dim};
    const Dims rows{shape.batch, shape.heads, shape.q_len};
    out.assign(static_cast<std::size_t>(element_count(dims)) + 1, 7.0F);
    lse.assign(static_cast<std::size_t>(element_count(rows)) + 1, 7.0F);
    return {.out = contiguous(out.data(), DType::kF32, dims),
            .lse = contiguous(lse.data(), DType::kF32, rows),
            .max_scores = {}};
  }

  ForwardInputs inputs;
  ForwardOutputs outputs, expected;
  std::vector<float> query, key, value, out, lse, expected_out, expected_lse;
};

/// The worst difference, relative where the values are large (semantics, Tolerance, the rule of
/// lse).
double worst_error(const std::vector<float>& got, const std::vector<float>& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;
    const double magnitude = std::max(1.0, std::fabs(static_cast<double>(expected[i])));
    const double error = std::fabs(static_cast<double>(got[i]) - expected[i]) / magnitude;
    if (!(error <= worst))
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return worst;
}

Problem problem_of(const Shape& shape) {
  Problem problem;
  problem.batch = shape.batch;
  problem.kv_batch = shape.kv_batch;
  problem.query_heads = shape.heads;
  problem.kv_heads = shape.kv_heads;
  problem.q_len = shape.q_len;
  problem.kv_len = shape.kv_len;
  problem.head_dim = shape.head_dim;
  problem.value_dim = shape.value_dim;
  return problem;
}

MaskMap map_of(const Program& program, const Problem& problem, std::int64_t band_rows) {
  MaskMapOptions options;
  options.batch = problem.batch;
  options.heads = problem.query_heads;
  options.q_len = problem.q_len;
  options.kv_len = problem.kv_len;
  options.q_block = band_rows;
  return MaskMap::build(program, options);
}

/// Runs driver and reference on the same tensors and returns the worst difference of out and lse.
/// @param band_rows  rows that have one list of spans in the map; 0: no map
/// @param step_price_pairs  the higher, the more bands are joined
double difference(const Shape& shape, const Program& program, int threads,
                  std::int64_t band_rows = 0, std::int64_t step_price_pairs = 64) {
  Tensors tensors(shape, 17);
  const Problem problem = problem_of(shape);
  const LoadedPass pass = plain_pass(program.structure(), program.bindings());
  ForwardCall call;
  call.kernel = &choose_micro_kernel(DType::kF32, std::nullopt, cpu_features());
  call.pass = &pass;
  call.pass_call.scale = problem.scale_or_default();
  call.problem = &problem;
  call.inputs = &tensors.inputs;
  call.outputs = &tensors.outputs;
  call.has_mask = program.has_mask_mod();
  call.score_rows = 4 * call.kernel->row_multiple;
  call.q_tile_rows = 3 * call.score_rows;
  call.kv_tile_tokens = 64;
  call.split_tokens = 128;
  call.row_unit = 4;
  call.step_price_pairs = step_price_pairs;
  std::optional<MaskMap> map;
  if (band_rows > 0) map = map_of(program, problem, band_rows);
  call.map = map ? &*map : nullptr;
  const WorkerPool workers(threads);
  WorkspacePool workspace;
  const HostServices host;
  PassFault fault;
  run_forward(call, {workers, workspace, host}, fault);
  reference::forward({.program = program.structure(),
                      .bindings = program.bindings(),
                      .problem = problem,
                      .listed = nullptr,
                      .arithmetic = reference::Arithmetic::kMeaning},
                     tensors.inputs, tensors.expected);
  return std::max(worst_error(tensors.out, tensors.expected_out),
                  worst_error(tensors.lse, tensors.expected_lse));
}

constexpr double kTolerance = 2e-5;

Program causal() {
  return trace([](Index, Index, Index q, Index kv) { return q >= kv; });
}

TEST(ForwardDriver, NoModsManyShapes) {
  for (const Shape& shape : std::vector<Shape>{{1, 1, 1, 1, 1, 1, 1, 1},
                                               {2, 2, 4, 2, 33, 65, 17, 9},
                                               {2, 1, 6, 2, 70, 130, 64, 32},
                                               {1, 1, 3, 3, 129, 64, 40, 72},
                                               {1, 1, 2, 1, 25, 300, 5, 3}})
    EXPECT_LE(difference(shape, Program(), 2), kTolerance) << shape.q_len << "x" << shape.kv_len;
}

TEST(ForwardDriver, CausalWithAndWithoutEmptyRows) {
  EXPECT_LE(difference({1, 1, 2, 2, 200, 200, 32, 32}, causal(), 2), kTolerance);
  const Program late = trace([](Index, Index, Index q, Index kv) { return q - 100 >= kv; });
  EXPECT_LE(difference({1, 1, 2, 2, 200, 200, 32, 32}, late, 2), kTolerance);
}

TEST(ForwardDriver, GroupedHeadsShareATileWhenQueriesAreShort) {
  const Program per_head =
      trace([](Score s, Index, Index h, Index q, Index kv) { return s * (h + 1) + (q - kv); });
  for (std::int64_t group : {1, 2, 3, 6, 7, 8, 16})
    for (std::int64_t q_len : {1, 2, 3, 5, 12})
      EXPECT_LE(difference({2, 2, 2 * group, 2, q_len, 150, 24, 24}, per_head, 2), kTolerance)
          << group << " " << q_len;
}

TEST(ForwardDriver, LongRowsSplitOverKeysAndMerge) {
  EXPECT_LE(difference({1, 1, 1, 1, 1, 1000, 64, 64}, Program(), 8), kTolerance);
  EXPECT_LE(difference({1, 1, 1, 1, 40, 1000, 64, 64}, causal(), 16), kTolerance);
}

TEST(ForwardDriver, TilesThatNoItemNeedsAnyMoreMakeRoom) {
  const Program window =
      trace([](Index, Index, Index q, Index kv) { return (q >= kv) & (q - kv < 90); });
  const Program blocks =
      trace([](Index, Index, Index q, Index kv) { return (q >= kv) & (q / 37 == kv / 37); });
  const Program per_head =
      trace([](Index, Index h, Index q, Index kv) { return (q >= kv) & (q - kv < 40 * h + 20); });
  for (const Program& program : {window, blocks, per_head, causal()})
    for (int threads : {1, 3})
      for (std::int64_t band_rows : {7, 64})
        EXPECT_LE(difference({2, 2, 4, 2, 333, 333, 8, 8}, program, threads, band_rows), kTolerance)
            << threads << " threads, bands of " << band_rows;
}

TEST(ForwardDriver, JoinedBandsMaskWhatOneOfThemDoesNotSee) {
  const Program two_spans = trace([](Index, Index, Index q, Index kv) {
    return (q >= kv) & ((q - kv < 30) | (kv < 20)) & (q / 50 != 2);
  });
  for (std::int64_t step_price_pairs : {0, 300, 100000})
    for (std::int64_t band_rows : {1, 5, 16})
      EXPECT_LE(difference({1, 1, 4, 2, 220, 220, 8, 8}, two_spans, 2, band_rows, step_price_pairs),
                kTolerance)
          << "bands of " << band_rows << ", a step costs " << step_price_pairs;
}

TEST(ForwardDriver, ZeroSizes) {
  EXPECT_LE(difference({0, 0, 2, 2, 8, 8, 16, 16}, Program(), 2), kTolerance);
  EXPECT_LE(difference({1, 1, 2, 2, 0, 8, 16, 16}, Program(), 2), kTolerance);
  EXPECT_LE(difference({1, 1, 2, 2, 8, 0, 16, 16}, Program(), 2), kTolerance);
}

}  // namespace
}  // namespace tilewright::cpu
