#include "backends/cuda/launch/merge_launch.h"

#include <algorithm>

namespace tilewright::cuda {

namespace {

constexpr unsigned kMergeThreads = 128;

std::int64_t row_count(const Problem& problem) {
  return problem.batch * problem.query_heads * problem.q_len;
}

const char* merged_element(DType dtype) {
  if (dtype == DType::kBF16) return "Bf16";
  return dtype == DType::kF16 ? "F16" : "F32";
}

/// [slot, B, Hq, Q, columns], one after another.
params::SlotStrides contiguous_parts(const Problem& problem, std::int64_t columns) {
  return {.slot = row_count(problem) * columns,
          .batch = problem.query_heads * problem.q_len * columns,
          .head = problem.q_len * columns,
          .row = columns,
          .column = 1};
}

}  // namespace

std::string merge_kernel_name(const std::string& kernel) { return kernel + "_merge"; }

std::string merge_kernel_text(const std::string& kernel, DType out) {
  return "\n#include \"attention/portable_merge.cuh\"\n\nextern \"C\" __global__ void "
         "__launch_bounds__(128) " +
         merge_kernel_name(kernel) +
         "(\n    const __grid_constant__ tilewright::cuda::MergeParams params) {\n"
         "  tilewright::cuda::portable_merge<tilewright::cuda::" +
         merged_element(out) + ">(params);\n}\n";
}

KeySplit key_split(const Problem& problem) noexcept {
  // 256 parts of a batch entry keep the largest devices busy; more only cost the join.
  constexpr std::int64_t kLeastKeys = 256, kPartsOfBatch = 256, kLeastParts = 8;
  const std::int64_t most_parts =
      std::max(kPartsOfBatch / std::max<std::int64_t>(problem.kv_heads, 1), kLeastParts);
  std::int64_t keys = kLeastKeys;
  while (keys * most_parts < problem.kv_len) keys *= 2;
  const std::int64_t parts = std::max<std::int64_t>((problem.kv_len + keys - 1) / keys, 1);
  return {.parts = static_cast<std::int32_t>(parts), .part_keys = static_cast<std::int32_t>(keys)};
}

std::size_t part_workspace_bytes(const Problem& problem) {
  const std::int64_t rows = row_count(problem) * key_split(problem).parts;
  return static_cast<std::size_t>(rows * (problem.value_dim + 2)) * sizeof(float);
}

params::Merge split_outputs(const LaunchSite& site, params::Portable& forward) {
  const Problem& problem = site.launch.problem;
  params::Merge merge{.out_parts = site.workspace.take(part_workspace_bytes(problem)),
                      .out = forward.out,
                      .lse = forward.lse,
                      .max_scores = forward.max_scores,
                      .out_strides = forward.out_strides,
                      .lse_strides = forward.lse_strides,
                      .splits = forward.schedule.splits,
                      .batches = static_cast<std::int32_t>(problem.batch),
                      .heads = static_cast<std::int32_t>(problem.query_heads),
                      .query_rows = static_cast<std::int32_t>(problem.q_len),
                      .value_dim = static_cast<std::int32_t>(problem.value_dim)};
  const auto rows = static_cast<std::uint64_t>(row_count(problem) * merge.splits) * sizeof(float);
  merge.lse_parts = merge.out_parts + rows * static_cast<std::uint64_t>(problem.value_dim);
  if (merge.max_scores != 0) merge.max_parts = merge.lse_parts + rows;
  forward.out = merge.out_parts;
  forward.lse = merge.lse_parts;
  forward.max_scores = merge.max_parts;
  forward.out_strides = contiguous_parts(problem, problem.value_dim);
  forward.lse_strides = contiguous_parts(problem, 1);
  forward.out_in_vectors = problem.value_dim % 8 == 0 ? 1 : 0;
  return merge;
}

void enqueue_merge(const LaunchSite& site, FunctionHandle function, params::Merge& merge) {
  const std::int64_t blocks = row_count(site.launch.problem);
  void* arguments[] = {&merge};
  site.gpu.driver().check(
      site.gpu.driver().launch(function, static_cast<unsigned>(blocks), 1, 1, kMergeThreads, 1, 1,
                               0, site.stream(), arguments, nullptr),
      "cuLaunchKernel", "the join of split keys");
}

}  // namespace tilewright::cuda
