#include "backends/cpu/backward_kernel.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/backward_footprint.h"
#include "backends/cpu/capture_gradients.h"
#include "backends/cpu/pass_bindings.h"
#include "base/check.h"

namespace tilewright::cpu {

namespace {

std::vector<CaptureTarget> capture_targets(const backends::BackwardLaunch& launch) {
  std::vector<CaptureTarget> targets;
  const auto slots = launch.program.structure().captures();
  for (const auto& [name, gradient] : launch.outputs.captures)
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].name != name) continue;
      targets.push_back({.slot = slot, .gradient = gradient});
      break;
    }
  return targets;
}

/// Every captured tensor that the derivative has a load of.
std::vector<CaptureTarget> all_targets(const ir::Derivative& derivative, const Program& program) {
  std::vector<CaptureTarget> targets;
  const auto& captures = program.bindings().captures;
  for (std::size_t slot = 0; slot < captures.size(); ++slot)
    if (std::ranges::any_of(derivative.loads,
                            [&](const auto& load) { return load.capture == slot; }))
      targets.push_back({.slot = slot, .gradient = captures[slot]});
  return targets;
}

/// What does not depend on a call's tensors.
BackwardCall planned_call(const MicroKernel& kernel, const LoadedPass& pass,
                          const Problem& problem) {
  const BackwardTile tile = backward_tile(kernel);
  BackwardCall call;
  call.kernel = &kernel;
  call.pass = &pass;
  call.problem = &problem;
  call.q_tile_rows = tile.q_rows;
  call.kv_tile_tokens = tile.kv_tokens;
  call.column_scratch_bytes = static_cast<std::size_t>(pass.column_scratch_bytes(tile.kv_tokens));
  return call;
}

}  // namespace

CpuBackwardKernel::CpuBackwardKernel(std::shared_ptr<CpuServices> services,
                                     const MicroKernel& micro_kernel,
                                     std::shared_ptr<const LoadedPass> pass,
                                     ir::Derivative derivative)
    : services_(std::move(services)),
      micro_kernel_(micro_kernel),
      pass_(std::move(pass)),
      derivative_(std::move(derivative)) {}

std::size_t CpuBackwardKernel::workspace_bytes(const Program& program,
                                               const Problem& problem) const {
  BackwardOutputs everything;
  everything.d_query = everything.d_key = everything.d_value = TensorView();
  BackwardCall call = planned_call(micro_kernel_, *pass_, problem);
  call.outputs = &everything;
  call.derivative = &derivative_;
  call.captures = all_targets(derivative_, program);
  return BackwardFootprint(call).peak_bytes(services_->workers.threads());
}

std::size_t CpuBackwardKernel::launch(const backends::Launch&) const {
  TILEWRIGHT_CHECK(!"a forward call of a backward kernel");
  return 0;
}

std::size_t CpuBackwardKernel::launch_backward(const backends::BackwardLaunch& launch) const {
  const ir::Program& structure = *launch.derivative.program;
  const PassBindings bindings(structure, launch.program.bindings());
  BackwardCall call = planned_call(micro_kernel_, *pass_, launch.problem);
  call.pass_call = bindings.call(launch.problem.scale_or_default());
  call.map = launch.map;
  call.kv_lengths = launch.kv_lengths;
  call.has_mask = launch.program.has_mask_mod();
  call.lists_rule = launch.lists != nullptr;
  call.inputs = &launch.inputs;
  call.outputs = &launch.outputs;
  call.derivative = &launch.derivative;
  call.captures = capture_targets(launch);
  call.claims_unit_by_unit = claims_unit_by_unit(launch.program.structure());
  PassFault fault;
  const std::size_t bytes =
      run_backward(call, {services_->workers, services_->workspace, launch.host}, fault);
  if (fault.node >= 0) raise_fault(fault, structure, launch.program.bindings());
  return bytes;
}

}  // namespace tilewright::cpu
