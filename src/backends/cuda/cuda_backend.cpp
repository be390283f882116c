#include "backends/cuda/cuda_backend.h"

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cuda/backward_rows.h"
#include "backends/cuda/compile/compiler.h"
#include "backends/cuda/cuda_backward_kernel.h"
#include "backends/cuda/cuda_kernel.h"
#include "backends/cuda/emit/backward_text.h"
#include "backends/cuda/emit/emit.h"
#include "backends/cuda/launch/backward_launch.h"
#include "backends/cuda/launch/hopper_launch.h"
#include "backends/cuda/launch/length_launch.h"
#include "backends/cuda/launch/list_launch.h"
#include "backends/cuda/launch/map_launch.h"
#include "backends/cuda/launch/merge_launch.h"
#include "backends/cuda/launch/portable_launch.h"
#include "backends/cuda/launch/pyramid_launch.h"
#include "backends/cuda/runtime.h"
#include "base/check.h"
#include "tilewright/error.h"

namespace tilewright::cuda {

namespace {

/// Of the forward's candidates and of the backward's, whose rows name their tiles differently.
template <class AnyCandidate>
plan::KernelRow plan_row(const AnyCandidate& candidate, const Problem& problem) {
  plan::KernelRow row;
  row.name = candidate.row.name;
  row.dtypes = {problem.query_dtype};
  row.min_head_dim = 0;
  row.max_head_dim = std::max(problem.head_dim, problem.value_dim);
  row.unavailable = candidate.rejection;
  row.fast = candidate.fast;
  if constexpr (std::is_same_v<AnyCandidate, BackwardCandidate>) {
    row.q_tile_rows = candidate.row.query_tile;
    row.kv_tile_tokens = candidate.row.key_tile;
  } else {
    row.q_tile_rows = candidate.row.q_rows;
    row.kv_tile_tokens = candidate.row.kv_rows;
  }
  row.alignment_bytes = candidate.row.family == Family::kHopper ? 16 : candidate.row.copy_bytes;
  return row;
}

std::string device_line(const DeviceFacts& device) {
  return device.name + ", sm_" + std::to_string(device.capability()) + ", " +
         std::to_string(device.multiprocessors) + " multiprocessors";
}

/// Which row serves a plain call, for `doctor`.
std::string row_line(const DeviceFacts& device, DType dtype, std::int64_t dim) {
  const ir::Program none;
  const analyse::StructureFacts facts = analyse::structure_facts(none);
  Problem problem;
  problem.head_dim = problem.value_dim = dim;
  problem.q_len = problem.kv_len = 4096;
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = dtype;
  problem.device = {DeviceKind::kCuda, device.ordinal};
  std::string line = std::string(name(dtype)) + ", E and Ev " + std::to_string(dim) + ": ";
  for (const Candidate& candidate :
       candidates({.program = none, .facts = facts, .problem = problem, .device = device}))
    if (candidate.rejection.empty()) return line + candidate.row.name;
  return line + "not served";
}

bool makes_maps(const backends::EmitRequest& request, const KernelRow& row) {
  return row.walks_lists && request.program.roots().mask.has_value();
}

class CudaBackend final : public backends::Backend {
 public:
  explicit CudaBackend(const backends::BackendOptions& options)
      : runtime_(std::make_unique<Runtime>(options)) {}

  std::string_view name() const noexcept override { return "cuda"; }

  TargetInfo info() const override {
    TargetInfo info{
        .backend = "cuda", .available = false, .device = {}, .reason = {}, .kernels = {}};
    const std::shared_ptr<const Driver> driver = runtime_->find_driver(info.reason);
    if (!driver) return info;
    for (int ordinal = 0; ordinal < driver->devices(); ++ordinal)
      info.device += (ordinal == 0 ? "" : "; ") + device_line(runtime_->facts(ordinal));
    const NvrtcChoice& choice = runtime_->nvrtc_choice();
    info.available = choice.nvrtc != nullptr;
    info.reason = "driver of CUDA " + driver->version_text() + "; compiler: " + choice.reason +
                  "; kernel sources: " + runtime_->sources().origin();
    for (const std::string& line : choice.tried) info.reason += "\n  not taken: " + line;
    for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32})
      for (const std::int64_t dim : {64, 128, 256})
        info.kernels.push_back(row_line(runtime_->facts(0), dtype, dim));
    return info;
  }

  plan::Limits limits(const backends::LimitsRequest& request) const override {
    const DeviceFacts device = runtime_->facts(request.problem.device.ordinal);
    plan::Limits limits{.backend = "cuda", .device = device_line(device), .threads = 0, .rows = {}};
    const RowQuestion question{.program = request.program,
                               .facts = request.facts,
                               .problem = request.problem,
                               .device = device,
                               .any_layout = request.any_layout,
                               .block_lists = request.block_lists,
                               .device_lengths = request.device_lengths,
                               .fast_functions = request.fast_functions,
                               .lengths = static_cast<LengthClass>(request.length_class)};
    if (request.backward) {
      for (const BackwardCandidate& candidate : backward_candidates(question))
        limits.rows.push_back(plan_row(candidate, request.problem));
      return limits;
    }
    for (const Candidate& candidate : candidates(question))
      limits.rows.push_back(plan_row(candidate, request.problem));
    return limits;
  }

  std::string layout_rejection(const plan::Plan& plan, const ForwardInputs& inputs,
                               const ForwardOutputs& outputs) const override {
    if (plan.kernel.starts_with("hopper")) return hopper_layout_rejection(inputs, outputs);
    return portable_layout_rejection(plan.alignment_bytes, inputs);
  }

  std::string layout_rejection(const plan::Plan& plan, const BackwardInputs& inputs,
                               const BackwardOutputs&) const override {
    if (plan.kernel.starts_with("hopper")) return backward_layout_rejection(inputs);
    return portable_layout_rejection(plan.alignment_bytes,
                                     {inputs.query, inputs.key, inputs.value});
  }

  int length_class(const ir::Program& program, const Problem& problem) const override {
    return static_cast<int>(length_class_of(program, problem));
  }
  int length_classes() const override { return kLengthClasses; }
  std::int64_t extent_limit() const override { return kPositionLimit; }

  backends::Source emit(const backends::EmitRequest& request) const override {
    if (request.derivative != nullptr) {
      const BackwardRow backward_row = backward_row_of(request);
      BackwardSource text = emit_backward(request, backward_row);
      if (backward_row.walks_lists) text.text += list_kernels_text(text.kernel_name);
      if (backward_row.reads_lengths) text.text += length_maps_kernel_text(text.kernel_name);
      return source_of(request, std::move(text));
    }
    const KernelRow row = row_of(request);
    ForwardSource source = emit_forward(request, row);
    if (row.splits_keys)
      source.text += merge_kernel_text(source.kernel_name, request.problem.out_dtype);
    if (row.walks_lists) source.text += list_kernels_text(source.kernel_name);
    if (makes_maps(request, row)) source.text += map_kernel_text(source.kernel_name);
    if (row.reads_lengths) source.text += length_maps_kernel_text(source.kernel_name);
    return source_of(request, std::move(source));
  }

  backends::Binary compile(const backends::EmitRequest& request,
                           const backends::Source& source) const override {
    return cuda::compile(runtime_->nvrtc(), target_of(request), source);
  }

  std::shared_ptr<const backends::Kernel> load(const backends::EmitRequest& request,
                                               const backends::Binary& binary) const override {
    if (request.derivative != nullptr) return load_backward(request, binary);
    const KernelRow row = row_of(request);
    ForwardSource source = emit_forward(request, row);
    KernelParts parts{.row = row,
                      .kernel_name = std::move(source.kernel_name),
                      .shared_bytes = shared_bytes(row, request.problem),
                      .pyramids = std::move(source.pyramids),
                      .reports = request.variant.reports,
                      .makes_maps = makes_maps(request, row)};
    auto kernel = std::make_shared<const CudaKernel>(runtime_->gpu(request.problem.device.ordinal),
                                                     binary, std::move(parts), request.program);
    if (request.variant.reports) remember(kernel);
    return kernel;
  }

  Digest fast_key(const backends::EmitRequest& request) const override {
    const Problem& problem = request.problem;
    DigestWriter writer;
    writer.text(request.derivative != nullptr ? "cuda backward" : "cuda");
    writer.integer(problem.device.ordinal).text(request.plan.kernel);
    const Digest& structure = request.program.structure_digest();
    writer.integer(static_cast<std::int64_t>(structure.high));
    writer.integer(static_cast<std::int64_t>(structure.low));
    writer.integer((request.variant.fits_int32 ? 1 : 0) + (request.variant.checked ? 2 : 0) +
                   (request.variant.reports ? 4 : 0) + (problem.outputs.max_scores ? 8 : 0) +
                   (scales_first(problem) ? 16 : 0) + (request.variant.fast_functions ? 32 : 0) +
                   (request.variant.ordered ? 64 : 0));
    writer.integer(problem.head_dim).integer(problem.value_dim);
    writer.integer(static_cast<std::int64_t>(problem.query_dtype));
    return writer.integer(static_cast<std::int64_t>(problem.out_dtype)).finish();
  }

  void check_errors() const override {
    for (const auto& kernel : reporting_kernels()) kernel->check_errors();
  }

 private:
  /// The planned row again: names are unique, whatever a call demands.
  KernelRow row_of(const backends::EmitRequest& request) const {
    const DeviceFacts device = runtime_->facts(request.problem.device.ordinal);
    for (const unsigned demands : {0U, 1U, 2U, 3U})
      for (Candidate& candidate : candidates({.program = request.program,
                                              .facts = request.facts,
                                              .problem = request.problem,
                                              .device = device,
                                              .block_lists = (demands & 1) != 0,
                                              .device_lengths = (demands & 2) != 0}))
        if (candidate.row.name == request.plan.kernel) return std::move(candidate.row);
    TILEWRIGHT_CHECK(!"the planned kernel is a row of this device");
    return {};
  }

  BackwardRow backward_row_of(const backends::EmitRequest& request) const {
    const DeviceFacts device = runtime_->facts(request.problem.device.ordinal);
    for (const unsigned demands : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U})
      for (BackwardCandidate& candidate :
           backward_candidates({.program = request.program,
                                .facts = request.facts,
                                .problem = request.problem,
                                .device = device,
                                .any_layout = (demands & 1) != 0,
                                .block_lists = (demands & 2) != 0,
                                .device_lengths = (demands & 4) != 0}))
        if (candidate.row.name == request.plan.kernel) return std::move(candidate.row);
    TILEWRIGHT_CHECK(!"the planned kernel is a backward row of this device");
    return {};
  }

  CompileTarget target_of(const backends::EmitRequest& request) const {
    const Family family =
        request.derivative != nullptr ? backward_row_of(request).family : row_of(request).family;
    return compile_target(runtime_->nvrtc(), runtime_->facts(request.problem.device.ordinal),
                          family);
  }

  std::shared_ptr<const backends::Kernel> load_backward(const backends::EmitRequest& request,
                                                        const backends::Binary& binary) const {
    const BackwardRow row = backward_row_of(request);
    BackwardSource source = emit_backward(request, row);
    BackwardKernelParts parts{
        .row = row,
        .kernel_name = std::move(source.kernel_name),
        .shared_bytes = backward_shared_bytes(row, request.problem),
        .pyramids = std::move(source.pyramids),
        .capturing = {.targets = std::move(source.capture_targets), .shape = source.capture_shape},
        .ordered = request.variant.ordered,
        .reports = request.variant.reports};
    auto kernel = std::make_shared<const CudaBackwardKernel>(
        runtime_->gpu(request.problem.device.ordinal), binary, std::move(parts), request.program);
    if (request.variant.reports) remember(kernel);
    return kernel;
  }

  template <class EmittedSource>
  backends::Source source_of(const backends::EmitRequest& request, EmittedSource source) const {
    if (!source.pyramids.empty()) source.text += pyramid_kernel_text(source.kernel_name);
    return {.kernel_name = std::move(source.kernel_name),
            .text = runtime_->sources().inlined(source.text),
            .toolchain = toolchain_text(runtime_->nvrtc(), target_of(request))};
  }

  void remember(const std::shared_ptr<const ReportingKernel>& kernel) const {
    const std::lock_guard lock(mutex_);
    std::erase_if(reporting_, [](const auto& known) { return known.expired(); });
    reporting_.push_back(kernel);
  }

  std::vector<std::shared_ptr<const ReportingKernel>> reporting_kernels() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<const ReportingKernel>> kernels;
    for (const auto& known : reporting_)
      if (auto kernel = known.lock()) kernels.push_back(std::move(kernel));
    return kernels;
  }

  std::unique_ptr<Runtime> runtime_;
  mutable std::mutex mutex_;
  mutable std::vector<std::weak_ptr<const ReportingKernel>> reporting_;  ///< checked mode
};

}  // namespace

std::shared_ptr<const backends::Backend> make_backend(const backends::BackendOptions& options) {
  return std::make_shared<CudaBackend>(options);
}

}  // namespace tilewright::cuda
