#include "backends/cpu/cpu_kernel.h"

#include <utility>
#include <vector>

#include "backends/cpu/forward_call.h"
#include "ir/interpret.h"

namespace tilewright::cpu {

namespace {

/// Captures and numbers in the form that score passes read.
class PassBindings {
 public:
  PassBindings(const ir::Program& program, const ir::Bindings& bindings) {
    strides_.reserve(bindings.captures.size());
    for (const TensorView& view : bindings.captures) {
      Dims strides = view.strides;
      for (std::size_t axis = 0; axis < view.rank(); ++axis)
        if (view.shape[axis] == 1) strides[axis] = 0;
      strides_.push_back(strides);
      captures_.push_back(
          {.data = view.data, .extents = view.shape.data(), .strides = strides_.back().data()});
    }
    for (std::size_t slot = 0; slot < bindings.numbers.size(); ++slot) {
      PassNumber number{};
      if (program.numbers()[slot].type == ir::Type::kFloat)
        number.real = bindings.numbers[slot].real;
      else
        number.integer = bindings.numbers[slot].integer;
      numbers_.push_back(number);
    }
  }

  PassCall call(double scale) const {
    return {.captures = captures_.data(), .numbers = numbers_.data(), .scale = scale};
  }

 private:
  std::vector<Dims> strides_;
  std::vector<PassCapture> captures_;
  std::vector<PassNumber> numbers_;
};

[[noreturn]] void raise_fault(const PassFault& fault, const Program& program) {
  const ir::Program& structure = program.structure();
  const ir::Node& node = structure.node(static_cast<ir::NodeId>(fault.node));
  if (node.op != ir::Op::kLoad) ir::raise_division_by_zero(ir::row(node.op).fn);
  const TensorView& view = program.bindings().captures[node.payload];
  ir::raise_index_out_of_range(structure.captures()[node.payload], fault.axis, fault.index,
                               view.shape[static_cast<std::size_t>(fault.axis)]);
}

ForwardCall planned_call(const plan::Plan& plan, const MicroKernel& micro_kernel,
                         const LoadedPass& pass, const Problem& problem) {
  ForwardCall call;
  call.kernel = &micro_kernel;
  call.pass = &pass;
  call.problem = &problem;
  call.q_tile_rows = plan.q_tile_rows;
  call.kv_tile_tokens = plan.kv_tile_tokens;
  call.split_tokens = plan.split_tokens;
  call.column_scratch_bytes =
      static_cast<std::size_t>(pass.column_scratch_bytes(plan.kv_tile_tokens));
  return call;
}

}  // namespace

CpuKernel::CpuKernel(std::shared_ptr<CpuServices> services, const MicroKernel& micro_kernel,
                     std::shared_ptr<const LoadedPass> pass, plan::Plan plan)
    : services_(std::move(services)),
      micro_kernel_(micro_kernel),
      pass_(std::move(pass)),
      plan_(std::move(plan)) {}

std::size_t CpuKernel::workspace_bytes(const Program&, const Problem& problem) const {
  return forward_workspace_bytes(planned_call(plan_, micro_kernel_, *pass_, problem),
                                 services_->workers.threads());
}

std::size_t CpuKernel::launch(const backends::Launch& launch) const {
  const ir::Program& structure = launch.program.structure();
  const PassBindings bindings(structure, launch.program.bindings());
  ForwardCall call = planned_call(plan_, micro_kernel_, *pass_, launch.problem);
  call.pass_call = bindings.call(launch.problem.scale_or_default());
  call.inputs = &launch.inputs;
  call.outputs = &launch.outputs;
  call.map = launch.map;
  call.has_mask = launch.program.has_mask_mod();
  call.lists_rule = launch.lists != nullptr;
  PassFault fault;
  const std::size_t bytes =
      run_forward(call, {services_->workers, services_->workspace, launch.host}, fault);
  if (fault.node >= 0) raise_fault(fault, launch.program);
  return bytes;
}

}  // namespace tilewright::cpu
