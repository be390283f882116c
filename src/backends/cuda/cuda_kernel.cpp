#include "backends/cuda/cuda_kernel.h"

#include <array>
#include <utility>

#include "backends/cuda/device/context_scope.h"
#include "backends/cuda/device/workspace.h"
#include "backends/cuda/launch/hopper_launch.h"
#include "backends/cuda/launch/length_launch.h"
#include "backends/cuda/launch/list_launch.h"
#include "backends/cuda/launch/map_launch.h"
#include "backends/cuda/launch/merge_launch.h"
#include "backends/cuda/launch/portable_launch.h"
#include "backends/cuda/launch/pyramid_launch.h"
#include "base/check.h"
#include "tilewright/error.h"

namespace tilewright::cuda {

namespace {

constexpr int kMaxDynamicShared = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

/// Bytes of a parameter block: on the stack unless a program reads very many captures.
class BlockBytes {
 public:
  explicit BlockBytes(std::size_t size) : size_(size) {
    if (size > inline_.size()) heap_.resize(size);
  }
  std::span<std::byte> bytes() { return {heap_.empty() ? inline_.data() : heap_.data(), size_}; }

 private:
  alignas(16) std::array<std::byte, 2048> inline_;
  std::vector<std::byte> heap_;
  std::size_t size_;
};

bool has_rows(const Problem& problem) {
  return problem.batch != 0 && problem.query_heads != 0 && problem.q_len != 0;
}

[[noreturn]] void raise_launch(const Driver& driver, DriverStatus status, const std::string& kernel,
                               const Problem& problem) {
  throw Error({.code = ErrorCode::kDevice,
               .what = "a kernel could not be launched",
               .where = kernel + " for " + text_of(problem),
               .expected = "success of cuLaunchKernel",
               .got = driver.text_of(status),
               .hint = "an error of an earlier kernel in this context shows up here too"});
}

}  // namespace

CudaKernel::CudaKernel(std::shared_ptr<Gpu> gpu, const backends::Binary& binary, KernelParts parts,
                       const ir::Program& program)
    : gpu_(std::move(gpu)), parts_(std::move(parts)), block_(program, parts_.pyramids) {
  const ContextScope scope(gpu_->driver(), gpu_->context());
  load(binary);
  if (parts_.reports) faults_ = std::make_unique<FaultRecord>(*gpu_, parts_.kernel_name);
}

void CudaKernel::load(const backends::Binary& binary) {
  const Driver& driver = gpu_->driver();
  driver.check(driver.module_load(&module_, binary.bytes.c_str(), 0, nullptr, nullptr),
               "cuModuleLoadDataEx", parts_.kernel_name);
  driver.check(driver.module_function(&function_, module_, parts_.kernel_name.c_str()),
               "cuModuleGetFunction", parts_.kernel_name);
  driver.check(
      driver.function_set(function_, kMaxDynamicShared, static_cast<int>(parts_.shared_bytes)),
      "cuFuncSetAttribute", parts_.kernel_name);
  load_companions();
}

void CudaKernel::load_companions() {
  const Driver& driver = gpu_->driver();
  const auto find = [&](FunctionHandle& to, const std::string& name) {
    driver.check(driver.module_function(&to, module_, name.c_str()), "cuModuleGetFunction",
                 parts_.kernel_name);
  };
  if (!parts_.pyramids.empty()) find(pyramid_function_, pyramid_kernel_name(parts_.kernel_name));
  if (parts_.row.splits_keys) find(merge_function_, merge_kernel_name(parts_.kernel_name));
  if (parts_.makes_maps) find(map_function_, map_kernel_name(parts_.kernel_name));
  if (parts_.row.reads_lengths)
    find(value_maps_function_, length_maps_kernel_name(parts_.kernel_name));
  if (parts_.row.walks_lists)
    list_functions_ = find_list_functions(driver, module_, parts_.kernel_name);
}

CudaKernel::~CudaKernel() {
  ContextHandle popped = nullptr;
  if (module_ == nullptr || gpu_->driver().context_push(gpu_->context()) != 0) return;
  gpu_->driver().module_unload(module_);
  gpu_->driver().context_pop(&popped);
}

void CudaKernel::check_errors() const {
  if (faults_) faults_->raise_if_written();
}

std::size_t CudaKernel::workspace_bytes(const Program& program, const Problem& problem) const {
  std::size_t bytes = parts_.row.splits_keys ? part_workspace_bytes(problem) : 0;
  for (const PyramidRequest& request : parts_.pyramids) {
    const TensorView& table = program.bindings().captures[request.capture];
    bytes += pyramid_bytes(pyramid_shape(table, request.axis));
  }
  return bytes;
}

std::size_t CudaKernel::span_bytes(const BlockLists* lists, const MaskMap* map) const {
  return parts_.row.walks_lists ? span_workspace_bytes(lists, map) : 0;
}

std::size_t CudaKernel::launch(const backends::Launch& launch) const {
  check_errors();
  check_extents(launch.problem);
  check_statistics(launch.outputs);
  if (!has_rows(launch.problem)) return 0;
  const ContextScope scope(gpu_->driver(), gpu_->context());
  const Nvtx::Range range(gpu_->nvtx(), parts_.kernel_name.c_str());
  Workspace workspace(*gpu_, launch.host, static_cast<StreamHandle>(launch.stream));
  LaunchSite site{.launch = launch,
                  .row = parts_.row,
                  .gpu = *gpu_,
                  .workspace = workspace,
                  .error = faults_ ? faults_->address() : 0};
  if (parts_.row.walks_lists) site.lists = place_spans(site, list_functions_);
  enqueue(site);
  if (faults_) faults_->launched(launch.program.structure(), text_of(launch.problem));
  return workspace.bytes();
}

void CudaKernel::build_map(const backends::MapLaunch& launch) const {
  TILEWRIGHT_CHECK(map_function_ != nullptr);
  check_extents(launch.problem);
  const ContextScope scope(gpu_->driver(), gpu_->context());
  Workspace workspace(*gpu_, launch.host, static_cast<StreamHandle>(launch.stream));
  const ForwardInputs inputs{};
  const ForwardOutputs outputs{};
  const backends::Launch call{.program = launch.map.program(),
                              .problem = launch.problem,
                              .plan = launch.plan,
                              .inputs = inputs,
                              .outputs = outputs,
                              .host = launch.host,
                              .stream = launch.stream};
  const LaunchSite site{.launch = call,
                        .row = parts_.row,
                        .gpu = *gpu_,
                        .workspace = workspace,
                        .error = faults_ ? faults_->address() : 0};
  std::vector<std::byte> block = packed_block(site);
  enqueue_map(site, launch.map, map_function_, block.data());
}

/// The parameter block of a call, pyramids enqueued.
std::vector<std::byte> CudaKernel::packed_block(const LaunchSite& site) const {
  const std::vector<PyramidBinding> pyramids =
      build_pyramids(site, pyramid_function_, parts_.pyramids);
  std::vector<std::byte> block(block_.bytes());
  pack(block_,
       {.program = site.launch.program.structure(),
        .bindings = site.launch.program.bindings(),
        .problem = site.launch.problem,
        .error = reinterpret_cast<void*>(site.error),
        .pyramids = pyramids},
       block);
  return block;
}

Grid CudaKernel::fill_extended(const LaunchSite& site, params::ExtendedHopper& params) const {
  const Grid grid = fill_hopper(site, params.forward);
  if (parts_.row.walks_lists) params.lists = item_lists(site);
  if (!parts_.row.reads_lengths) return grid;
  params.lengths = key_lengths(site);
  params.value_maps = build_value_maps(site, value_maps_function_, params.forward);
  return grid;
}

void CudaKernel::enqueue(const LaunchSite& site) const {
  const backends::Launch& launch = site.launch;
  union {
    params::ExtendedHopper hopper;
    params::Portable portable;
  } params{.hopper = {}};
  params::Merge merge;
  Grid grid;
  if (parts_.row.family == Family::kHopper)
    grid = fill_extended(site, params.hopper);
  else
    grid = fill_portable(site, params.portable = {});
  if (parts_.row.splits_keys) merge = split_outputs(site, params.portable);
  const std::vector<PyramidBinding> pyramids =
      build_pyramids(site, pyramid_function_, parts_.pyramids);
  BlockBytes block(block_.bytes());
  pack(block_,
       {.program = launch.program.structure(),
        .bindings = launch.program.bindings(),
        .problem = launch.problem,
        .error = reinterpret_cast<void*>(site.error),
        .pyramids = pyramids},
       block.bytes());
  void* arguments[] = {&params, block.bytes().data()};
  const DriverStatus status = gpu_->driver().launch(
      function_, grid.x, grid.y, 1, static_cast<unsigned>(parts_.row.threads), 1, 1,
      static_cast<unsigned>(parts_.shared_bytes), site.stream(), arguments, nullptr);
  if (status != 0) raise_launch(gpu_->driver(), status, parts_.kernel_name, launch.problem);
  if (parts_.row.splits_keys) enqueue_merge(site, merge_function_, merge);
}

}  // namespace tilewright::cuda
