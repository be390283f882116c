#include "backends/cuda/launch/capture_launch.h"

#include <algorithm>
#include <numbers>

#include "backends/cuda/launch/backward_launch.h"
#include "ir/program.h"
#include "tilewright/error.h"

namespace tilewright::cuda {

namespace {

/// Copies of all targets together take no more than this while there are several blocks left.
constexpr std::int64_t kCopiesBudgetBytes = std::int64_t{1} << 30;
constexpr std::int64_t kUnitsPerBlock = 4;
constexpr std::int64_t kElementLimit = std::int64_t{1} << 31;

std::int64_t quotient_up(std::int64_t a, std::int64_t b) noexcept { return (a + b - 1) / b; }

void check_targets(const CaptureKernelPlan& plan, const Program& program) {
  if (plan.targets.size() > params::kMaxCaptureTargets)
    throw Error({.code = ErrorCode::kUnsupported,
                 .what = "a kernel writes no more captured gradients at once",
                 .where = "gradients of captured tensors",
                 .expected = "at most " + std::to_string(params::kMaxCaptureTargets),
                 .got = std::to_string(plan.targets.size()),
                 .hint = "ask for them in several calls"});
  if (!plan.shape.ordered_pairs) return;
  for (const CaptureTargetPlan& target : plan.targets) {
    const TensorView& tensor = program.bindings().captures[target.capture];
    if (element_count(tensor.shape) < kElementLimit) continue;
    throw Error({.code = ErrorCode::kUnsupported,
                 .what = "a captured tensor has too many elements for a gradient in a fixed order",
                 .where = program.structure().captures()[target.capture].name,
                 .expected = "below 2^31 elements",
                 .got = std::to_string(element_count(tensor.shape)),
                 .hint = "without `deterministic` there is no such limit"});
  }
}

/// Units enough for all blocks, though rows (and keys) of a mask may differ in work.
params::CaptureSchedule schedule_for(const CaptureKernelPlan& plan, const Problem& problem,
                                     std::int64_t blocks, std::int64_t block_rows) {
  const std::int64_t streams = problem.batch * problem.query_heads;
  const params::QueryCut cut = query_cut(plan.shape.query_tile, block_rows);
  const std::int64_t q_tiles = query_tiles(cut, problem.q_len);
  const std::int64_t kv_tiles = quotient_up(problem.kv_len, CaptureShape::kKeyTile);
  const std::int64_t parts = plan.has_shared() ? 1 : std::max<std::int64_t>(streams, 1);
  const std::int64_t units = std::max<std::int64_t>(parts * q_tiles, 1);
  const std::int64_t wanted = std::clamp<std::int64_t>(quotient_up(kUnitsPerBlock * blocks, units),
                                                       1, std::max<std::int64_t>(kv_tiles, 1));
  const std::int64_t chunk_tiles = quotient_up(kv_tiles, wanted);
  const std::int64_t chunks = chunk_tiles == 0 ? 0 : quotient_up(kv_tiles, chunk_tiles);
  return {.blocks = static_cast<std::int32_t>(
              std::clamp<std::int64_t>(parts * q_tiles * chunks, 1, blocks)),
          .stream_parts = static_cast<std::int32_t>(parts),
          .q_tiles = static_cast<std::int32_t>(q_tiles),
          .chunks = static_cast<std::int32_t>(chunks),
          .chunk_keys = static_cast<std::int32_t>(chunk_tiles * CaptureShape::kKeyTile),
          .cut = cut};
}

}  // namespace

bool CaptureKernelPlan::has_shared() const noexcept {
  return std::ranges::any_of(targets,
                             [](const CaptureTargetPlan& target) { return target.is_shared; });
}

CaptureCut capture_cut(const CaptureKernelPlan& plan, const Program& program,
                       const Problem& problem, int multiprocessors, std::int64_t block_rows) {
  check_targets(plan, program);
  CaptureCut cut;
  std::int64_t copy_bytes = 0;
  for (const CaptureTargetPlan& target : plan.targets) {
    const TensorView& tensor = program.bindings().captures[target.capture];
    cut.targets.push_back({.elements = element_count(tensor.shape)});
    if (!target.is_shared) copy_bytes += 4 * cut.targets.back().elements;
  }
  const std::int64_t affordable = kCopiesBudgetBytes / std::max<std::int64_t>(copy_bytes, 1);
  const std::int64_t blocks = std::clamp<std::int64_t>(affordable, 1, multiprocessors);
  cut.schedule = schedule_for(plan, problem, blocks, block_rows);
  for (std::size_t n = 0; n < plan.targets.size(); ++n) {
    CaptureCut::Target& target = cut.targets[n];
    target.copies = plan.targets[n].is_shared ? 1 : cut.schedule.blocks;
    target.at_bytes = cut.bytes;
    cut.bytes += static_cast<std::size_t>(4 * target.copies * target.elements + 255) / 256 * 256;
  }
  return cut;
}

params::Captures capture_params(const BackwardSite& site, const BackwardCut& cut,
                                const BackwardSpace& space, const CaptureCut& captures,
                                DeviceAddress sums) {
  const Problem& problem = site.launch.problem;
  const BackwardInputs& inputs = site.launch.inputs;
  const bool is_copied = space.d_out_copy.bytes != 0;
  params::Captures params;
  params.query = address_of(inputs.query);
  params.key = address_of(inputs.key);
  params.value = address_of(inputs.value);
  params.d_out = is_copied ? space.d_out_copy.address : address_of(inputs.d_out);
  params.minus_lse = space.minus_lse.address;
  params.delta = space.delta.address;
  params.error = site.error;
  params.query_strides = operand_strides(inputs.query);
  params.key_strides = operand_strides(inputs.key);
  params.value_strides = operand_strides(inputs.value);
  params.d_out_strides = is_copied ? d_out_copy_strides(problem) : operand_strides(inputs.d_out);
  for (std::size_t n = 0; n < captures.targets.size(); ++n) {
    const CaptureCut::Target& target = captures.targets[n];
    params.target[n] = {.sums = sums + target.at_bytes,
                        .copy_floats = target.copies == 1 ? 0 : target.elements};
  }
  params.schedule = captures.schedule;
  params.extents = extents_of(problem);
  params.stream_rows = static_cast<std::int32_t>(cut.q_tiles * site.row.query_tile);
  params.row_pitch = site.row.query_tile;
  params.row_cut = cut.rows;
  params.lists = site.lists;
  params.lengths = site.lengths;
  const double scale = problem.scale_or_default();
  params.scale = static_cast<float>(scale);
  params.scale_log2 = static_cast<float>(scale * std::numbers::log2e);
  return params;
}

params::CaptureFinish capture_finish_params(const TensorView& gradient,
                                            const CaptureCut::Target* target, DeviceAddress sums) {
  params::CaptureFinish params;
  params.gradient = address_of(gradient);
  params.elements = element_count(gradient.shape);
  params.rank = static_cast<std::int32_t>(gradient.rank());
  params.kind = static_cast<params::FloatKind>(gradient.dtype);
  for (std::size_t axis = 0; axis < gradient.rank(); ++axis) {
    params.extent[axis] = gradient.shape[axis];
    params.stride[axis] = stride_of(gradient, axis);
  }
  if (target == nullptr) return params;
  params.sums = sums + target->at_bytes;
  params.copies = static_cast<std::int32_t>(target->copies);
  return params;
}

std::int64_t capture_finish_blocks(const params::CaptureFinish& params) noexcept {
  constexpr std::int64_t kThreads = 256, kMostBlocks = 4096;
  return std::min(quotient_up(params.elements, kThreads), kMostBlocks);
}

}  // namespace tilewright::cuda
