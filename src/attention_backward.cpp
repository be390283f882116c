#include "attention_state.h"
#include "backward_check.h"
#include "call_check.h"
#include "record.h"

namespace tilewright {

namespace {

/// The spans of a backward call: those that it brings, or the mask's own; null where every pair is
/// visited or where kernels find them themselves.
std::shared_ptr<const MaskMap> spans_of(Prepared& prepared, const BackwardParts& call) {
  if (call.map != nullptr) return {std::shared_ptr<const MaskMap>(), call.map};
  if (call.lists == nullptr)
    return prepared.map(call.program, call.problem, prepared.plan().q_tile_rows);
  if (call.lists->kv_num_blocks.device.kind != DeviceKind::kCpu) return nullptr;
  return std::make_shared<const MaskMap>(MaskMap::from_block_lists(*call.lists));
}

}  // namespace

CallReport run_backward(EngineCore& core, Prepared& asked, const BackwardParts& call) {
  check_call(call.program, call.problem,
             {.out = call.inputs.out, .lse = call.inputs.lse, .max_scores = {}});
  const ir::DerivativeRequest wanted = derivatives_for(call.program, call.outputs);
  check_capture_gradients(call.program, call.outputs);
  Prepared& prepared = asked.serving(call);
  const std::shared_ptr<const GradientStage> stage = prepared.gradient(call.program, wanted);
  const std::shared_ptr<const MaskMap> map = spans_of(prepared, call);
  backends::Variant variant = prepared.variant_of(call.program, call.problem);
  variant.ordered = core.fixes_order(call.problem.device, call.deterministic);
  const auto kernel = prepared.backward_kernel(*stage, call.problem, variant, false);
  const std::size_t workspace_bytes = kernel->launch_backward({.program = call.program,
                                                               .problem = call.problem,
                                                               .plan = prepared.plan(),
                                                               .derivative = stage->derivative,
                                                               .inputs = call.inputs,
                                                               .outputs = call.outputs,
                                                               .map = map.get(),
                                                               .lists = call.lists,
                                                               .kv_lengths = call.kv_lengths,
                                                               .host = core.options.host,
                                                               .stream = call.stream});
  CallReport report = prepared.called_backward(workspace_bytes);
  report.deterministic = call.problem.device.kind == DeviceKind::kCpu || variant.ordered;
  return report;
}

CallReport Attention::backward(const BackwardInputs& inputs, const BackwardOutputs& outputs,
                               const CallOptions& options) const {
  const State& state = *state_;
  const BlockLists* const lists = state.lists ? &*state.lists : nullptr;
  const std::optional<double> scale = options.scale ? options.scale : state.problem.scale;
  const FailedCall attempt{.program = state.program,
                           .backward_inputs = &inputs,
                           .gradients = &outputs,
                           .scale = scale,
                           .q_base = state.problem.q_base,
                           .kv_base = state.problem.kv_base,
                           .lists = lists,
                           .deterministic = options.deterministic,
                           .kv_lengths = options.kv_lengths};
  return recorded(state.core->options, attempt, [&] {
    wait();
    Problem problem = problem_from(inputs, outputs);
    require_same_class(state.problem, problem);
    problem.scale = scale;
    problem.q_base = state.problem.q_base;
    problem.kv_base = state.problem.kv_base;
    check_options(options, lists, state.program, problem);
    return run_backward(*state.core, *state.prepared,
                        {.program = state.program,
                         .problem = problem,
                         .inputs = inputs,
                         .outputs = outputs,
                         .lists = lists,
                         .map = state.lists_map ? &*state.lists_map : options.mask_map,
                         .kv_lengths = options.kv_lengths,
                         .stream = options.stream,
                         .deterministic = options.deterministic});
  });
}

void Attention::prepare_backward(const GradientSet& gradients) const {
  Prepared& prepared = state_->planned().for_backward(state_->program, state_->problem);
  const auto stage =
      prepared.gradient(state_->program, derivatives_for(state_->program, gradients));
  for (backends::Variant variant : prepared.variants_to_prepare(state_->program, state_->problem)) {
    variant.ordered = state_->core->fixes_order(state_->problem.device, gradients.deterministic);
    prepared.backward_kernel(*stage, state_->problem, variant, true);
  }
}

}  // namespace tilewright
