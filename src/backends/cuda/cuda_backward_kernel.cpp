#include "backends/cuda/cuda_backward_kernel.h"

#include <utility>

#include "backends/cuda/device/context_scope.h"
#include "backends/cuda/device/workspace.h"
#include "backends/cuda/emit/backward_text.h"
#include "backends/cuda/emit/capture_text.h"
#include "backends/cuda/launch/hopper_launch.h"
#include "backends/cuda/launch/length_launch.h"
#include "backends/cuda/launch/portable_backward_launch.h"
#include "backends/cuda/launch/pyramid_launch.h"
#include "base/check.h"
#include "tilewright/error.h"

namespace tilewright::cuda {

namespace {

constexpr int kSharedBytesAttribute = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr unsigned kPrepareThreads = 128;
constexpr unsigned kFinishThreads = 256;
constexpr unsigned kMapThreads = 32;

/// Rows of a block of lists that a query tile must not leave; 0 where there is none or one.
std::int64_t block_rows(const params::SpanLists& lists) noexcept {
  return lists.q_blocks > 1 ? lists.q_block_rows : 0;
}

struct Blocks {
  std::int64_t count;
  unsigned threads;
  std::int64_t shared_bytes = 0;
};

}  // namespace

/// One call on its way to the device.
struct CudaBackwardKernel::Call {
  BackwardSite site;
  BackwardCut cut;
  BackwardSpace space;
  StreamHandle stream;
  std::span<const PyramidBinding> pyramids;

  void enqueue(FunctionHandle function, const Blocks& blocks, void** arguments,
               const char* what) const {
    const Driver& driver = site.gpu.driver();
    const DriverStatus status =
        driver.launch(function, static_cast<unsigned>(blocks.count), 1, 1, blocks.threads, 1, 1,
                      static_cast<unsigned>(blocks.shared_bytes), stream, arguments, nullptr);
    if (status == 0) return;
    throw Error({.code = ErrorCode::kDevice,
                 .what = "a backward kernel could not be launched",
                 .where = std::string(what) + " for " + text_of(site.launch.problem),
                 .expected = "success of cuLaunchKernel",
                 .got = driver.text_of(status),
                 .hint = "an error of an earlier kernel in this context shows up here too"});
  }
};

CudaBackwardKernel::CudaBackwardKernel(std::shared_ptr<Gpu> gpu, const backends::Binary& binary,
                                       BackwardKernelParts parts, const ir::Program& program)
    : gpu_(std::move(gpu)), parts_(std::move(parts)), block_(program, parts_.pyramids) {
  const ContextScope scope(gpu_->driver(), gpu_->context());
  load(binary);
  if (parts_.reports) faults_ = std::make_unique<FaultRecord>(*gpu_, parts_.kernel_name);
}

FunctionHandle CudaBackwardKernel::function(const std::string& suffix) const {
  const std::string name = parts_.kernel_name + suffix;
  FunctionHandle found = nullptr;
  gpu_->driver().check(gpu_->driver().module_function(&found, module_, name.c_str()),
                       "cuModuleGetFunction", name);
  return found;
}

void CudaBackwardKernel::load(const backends::Binary& binary) {
  const Driver& driver = gpu_->driver();
  driver.check(driver.module_load(&module_, binary.bytes.c_str(), 0, nullptr, nullptr),
               "cuModuleLoadDataEx", parts_.kernel_name);
  main_ = function("");
  prepare_ = function(kPrepareSuffix);
  finish_query_ = function(kFinishQuerySuffix);
  finish_key_ = function(kFinishKeySuffix);
  finish_value_ = function(kFinishValueSuffix);
  finish_capture_ = function(kCaptureFinishSuffix);
  if (!parts_.capturing.targets.empty()) {
    capture_gradients_ = function(kCaptureSuffix);
    driver.check(driver.function_set(capture_gradients_, kSharedBytesAttribute,
                                     static_cast<int>(parts_.capturing.shape.shared_bytes)),
                 "cuFuncSetAttribute", parts_.kernel_name);
  }
  if (!parts_.pyramids.empty()) pyramid_ = function(pyramid_kernel_name(""));
  if (parts_.row.walks_lists)
    list_functions_ = find_list_functions(driver, module_, parts_.kernel_name);
  if (parts_.row.reads_lengths) key_maps_ = function(length_maps_kernel_name(""));
  driver.check(
      driver.function_set(main_, kSharedBytesAttribute, static_cast<int>(parts_.shared_bytes)),
      "cuFuncSetAttribute", parts_.kernel_name);
}

CudaBackwardKernel::~CudaBackwardKernel() {
  ContextHandle popped = nullptr;
  if (module_ == nullptr || gpu_->driver().context_push(gpu_->context()) != 0) return;
  gpu_->driver().module_unload(module_);
  gpu_->driver().context_pop(&popped);
}

void CudaBackwardKernel::check_errors() const {
  if (faults_) faults_->raise_if_written();
}

std::size_t CudaBackwardKernel::workspace_bytes(const Program& program,
                                                const Problem& problem) const {
  std::size_t bytes = backward_space_bytes(parts_.row, problem, parts_.ordered,
                                           gpu_->facts().multiprocessors, program.has_mask_mod());
  for (const PyramidRequest& request : parts_.pyramids)
    bytes +=
        pyramid_bytes(pyramid_shape(program.bindings().captures[request.capture], request.axis));
  return bytes +
         capture_cut(parts_.capturing, program, problem, gpu_->facts().multiprocessors).bytes;
}

std::size_t CudaBackwardKernel::launch(const backends::Launch&) const {
  TILEWRIGHT_CHECK(!"a kernel of backward runs forward");
  return 0;
}

std::size_t CudaBackwardKernel::launch_backward(const backends::BackwardLaunch& launch) const {
  check_errors();
  check_extents(launch.problem);
  const ContextScope scope(gpu_->driver(), gpu_->context());
  Workspace workspace(*gpu_, launch.host, static_cast<StreamHandle>(launch.stream));
  enqueue(launch, workspace);
  if (faults_) faults_->launched(launch.program.structure(), text_of(launch.problem));
  return workspace.bytes();
}

void CudaBackwardKernel::enqueue(const backends::BackwardLaunch& launch,
                                 Workspace& workspace) const {
  // What serves forward calls too sees one with the same tensors.
  const ForwardInputs inputs{launch.inputs.query, launch.inputs.key, launch.inputs.value};
  const ForwardOutputs outputs{.out = launch.inputs.out, .lse = launch.inputs.lse};
  const backends::Launch forward{.program = launch.program,
                                 .problem = launch.problem,
                                 .plan = launch.plan,
                                 .inputs = inputs,
                                 .outputs = outputs,
                                 .map = launch.map,
                                 .lists = launch.lists,
                                 .kv_lengths = launch.kv_lengths,
                                 .host = launch.host,
                                 .stream = launch.stream};
  const KernelRow no_row;
  const LaunchSite forward_site{
      .launch = forward, .row = no_row, .gpu = *gpu_, .workspace = workspace};
  Call call{.site = {.launch = launch,
                     .row = parts_.row,
                     .gpu = *gpu_,
                     .ordered = parts_.ordered,
                     .error = faults_ ? faults_->address() : 0,
                     .counters = 0,
                     .lists = spans_of(forward_site),
                     .lengths = key_lengths(forward_site)},
            .cut = cut_of(parts_.row, launch.problem, parts_.ordered, gpu_->facts().multiprocessors,
                          launch.program.has_mask_mod() || parts_.row.walks_lists ||
                              launch.kv_lengths != nullptr),
            .space = {},
            .stream = forward_site.stream(),
            .pyramids = {}};
  keep_in_blocks(call.cut, launch.problem, block_rows(call.site.lists));
  call.space = backward_space(call.site, call.cut);
  if (const std::size_t bytes = call.space.bytes(); bytes != 0)
    call.space.place(workspace.take(bytes));
  const std::vector<PyramidBinding> pyramids =
      build_pyramids(forward_site, pyramid_, parts_.pyramids);
  call.pyramids = pyramids;
  if (call.cut.items != 0) call.site.counters = counters_for(forward_site);
  enqueue_main(call);
  enqueue_captures(call, workspace);
  enqueue_finish(call, finish_query_, finish_query(call.site, call.cut, call.space));
  enqueue_finish(call, finish_key_, finish_key(call.site, call.cut, call.space));
  enqueue_finish(call, finish_value_, finish_value(call.site, call.cut, call.space));
}

params::SpanLists CudaBackwardKernel::spans_of(const LaunchSite& site) const {
  const Problem& problem = site.launch.problem;
  if (!parts_.row.walks_lists || streams_of(problem) * problem.q_len == 0) return {};
  return place_spans(site, list_functions_);
}

void CudaBackwardKernel::enqueue_main(const Call& call) const {
  const Problem& problem = call.site.launch.problem;
  const std::int64_t tiles = problem.batch * problem.query_heads * call.cut.q_tiles;
  if (tiles != 0) {
    params::BackwardPrepare params = prepare_params(call.site, call.cut, call.space);
    void* arguments[] = {&params};
    call.enqueue(prepare_, {.count = tiles, .threads = kPrepareThreads}, arguments, "preparation");
  }
  if (call.cut.items == 0) return;
  std::vector<std::byte> block = block_of(call);
  Blocks blocks{.count = call.cut.items,
                .threads = static_cast<unsigned>(parts_.row.threads),
                .shared_bytes = parts_.shared_bytes};
  const auto enqueue = [&](auto& params) {
    void* arguments[] = {&params, block.data()};
    call.enqueue(main_, blocks, arguments, parts_.kernel_name.c_str());
  };
  if (parts_.row.family == Family::kPortable) {
    params::PortableBackward params;
    fill_portable_backward(call.site, call.cut, call.space, params);
    return enqueue(params);
  }
  params::ExtendedHopperBackward params{};
  fill_backward(call.site, call.cut, call.space, params.backward);
  extend_backward(call.site, call.cut, call.space, params);
  if (parts_.row.reads_lengths) enqueue_key_maps(call, params);
  blocks.count = std::min<std::int64_t>(call.cut.items, gpu_->facts().multiprocessors);
  enqueue(params);
}

void CudaBackwardKernel::enqueue_key_maps(const Call& call,
                                          const params::ExtendedHopperBackward& params) const {
  const Problem& problem = call.site.launch.problem;
  params::LengthMaps maps{
      .all = params.backward.key,
      .maps = params.keys,
      .lengths = params.lengths,
      .kv_rows = params.backward.extents.kv_rows,
      .sharing = static_cast<std::int32_t>(problem.kv_batch == 1 ? problem.batch : 1)};
  void* arguments[] = {&maps};
  call.enqueue(key_maps_, {.count = problem.kv_batch, .threads = kMapThreads}, arguments,
               "the tensor maps of a call with key lengths");
}

std::vector<std::byte> CudaBackwardKernel::block_of(const Call& call) const {
  std::vector<std::byte> block(block_.bytes());
  pack(block_,
       {.program = *call.site.launch.derivative.program,
        .bindings = call.site.launch.program.bindings(),
        .problem = call.site.launch.problem,
        .error = reinterpret_cast<void*>(call.site.error),
        .pyramids = call.pyramids},
       block);
  return block;
}

void CudaBackwardKernel::enqueue_captures(const Call& call, Workspace& workspace) const {
  const backends::BackwardLaunch& launch = call.site.launch;
  if (launch.outputs.captures.empty()) return;
  const CaptureCut cut = capture_cut(parts_.capturing, launch.program, launch.problem,
                                     gpu_->facts().multiprocessors, block_rows(call.site.lists));
  const DeviceAddress sums = cut.bytes != 0 ? workspace.take(cut.bytes) : 0;
  if (sums != 0) enqueue_capture_sums(call, cut, sums);
  // The call's names: programs that differ in names alone share this kernel.
  const std::span<const ir::CaptureSlot> slots = launch.program.structure().captures();
  for (const auto& [name, gradient] : launch.outputs.captures) {
    const CaptureCut::Target* found = nullptr;
    for (std::size_t n = 0; n < cut.targets.size(); ++n)
      if (slots[parts_.capturing.targets[n].capture].name == name) found = &cut.targets[n];
    params::CaptureFinish params = capture_finish_params(gradient, found, sums);
    void* arguments[] = {&params};
    if (params.elements != 0)
      call.enqueue(finish_capture_,
                   {.count = capture_finish_blocks(params), .threads = kFinishThreads}, arguments,
                   name.c_str());
  }
}

void CudaBackwardKernel::enqueue_capture_sums(const Call& call, const CaptureCut& cut,
                                              DeviceAddress sums) const {
  const Driver& driver = gpu_->driver();
  driver.check(driver.set_words_async(sums, 0, cut.bytes / 4, call.stream), "cuMemsetD32Async",
               "sums of captured gradients");
  if (call.cut.items == 0 || call.cut.q_tiles == 0) return;
  params::Captures params = capture_params(call.site, call.cut, call.space, cut, sums);
  std::vector<std::byte> block = block_of(call);
  void* arguments[] = {&params, block.data()};
  const CaptureShape& shape = parts_.capturing.shape;
  call.enqueue(capture_gradients_,
               {.count = cut.schedule.blocks,
                .threads = static_cast<unsigned>(shape.threads()),
                .shared_bytes = shape.shared_bytes},
               arguments, "captured gradients");
}

void CudaBackwardKernel::enqueue_finish(const Call& call, FunctionHandle function,
                                        Finish finish) const {
  if (finish.blocks == 0) return;
  void* arguments[] = {&finish.params};
  call.enqueue(function, {.count = finish.blocks, .threads = kFinishThreads}, arguments,
               "the end of a gradient");
}

}  // namespace tilewright::cuda
