#include "backends/cpu/cpu_kernel.h"

#include <utility>

#include "backends/cpu/forward_call.h"
#include "backends/cpu/pass_bindings.h"
#include "backends/cpu/tile_sizes.h"

namespace tilewright::cpu {

namespace {

ForwardCall planned_call(const plan::Plan& plan, const MicroKernel& micro_kernel,
                         const LoadedPass& pass, const Problem& problem) {
  ForwardCall call;
  call.kernel = &micro_kernel;
  call.pass = &pass;
  call.problem = &problem;
  call.q_tile_rows = plan.q_tile_rows;
  const TileSizes sizes = tile_sizes(micro_kernel);
  call.score_rows = sizes.score_rows;
  call.row_unit = sizes.row_unit;
  call.step_price_pairs = sizes.step_price_pairs;
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
  call.kv_lengths = launch.kv_lengths;
  call.has_mask = launch.program.has_mask_mod();
  call.lists_rule = launch.lists != nullptr;
  PassFault fault;
  const std::size_t bytes =
      run_forward(call, {services_->workers, services_->workspace, launch.host}, fault);
  if (fault.node >= 0) raise_fault(fault, structure, launch.program.bindings());
  return bytes;
}

}  // namespace tilewright::cpu
