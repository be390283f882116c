#include "attention_state.h"
#include "backward_check.h"
#include "call_check.h"

namespace tilewright {

CallReport run_backward(EngineCore& core, Prepared& prepared, const BackwardParts& call) {
  check_call(call.program, call.problem,
             {.out = call.inputs.out, .lse = call.inputs.lse, .max_scores = {}});
  const ir::DerivativeRequest wanted = derivatives_for(call.program, call.outputs);
  check_capture_gradients(call.program, call.outputs);
  const std::shared_ptr<const GradientStage> stage = prepared.gradient(call.program, wanted);
  const std::shared_ptr<const MaskMap> built =
      call.lists == nullptr ? prepared.map(call.program, call.problem, prepared.plan().q_tile_rows)
                            : nullptr;
  std::optional<MaskMap> from_lists;
  if (call.lists != nullptr && call.lists_map == nullptr)
    from_lists = MaskMap::from_block_lists(*call.lists);
  const MaskMap* map = built.get();
  if (call.lists != nullptr) map = call.lists_map != nullptr ? call.lists_map : &*from_lists;
  const analyse::BindingFacts facts = prepared.binding_facts(call.program, call.problem);
  const auto kernel =
      prepared.backward_kernel(*stage, call.problem, prepared.variant(facts), false);
  const std::size_t workspace_bytes = kernel->launch_backward({.program = call.program,
                                                               .problem = call.problem,
                                                               .plan = prepared.plan(),
                                                               .derivative = stage->derivative,
                                                               .inputs = call.inputs,
                                                               .outputs = call.outputs,
                                                               .map = map,
                                                               .lists = call.lists,
                                                               .host = core.options.host});
  CallReport report = report_of(prepared.plan());
  core.stats.called(report.kernel + " backward", workspace_bytes);
  return report;
}

CallReport Attention::backward(const BackwardInputs& inputs, const BackwardOutputs& outputs) const {
  wait();
  Problem problem = problem_from(inputs, outputs);
  require_same_class(state_->problem, problem);
  problem.scale = state_->problem.scale;
  problem.q_base = state_->problem.q_base;
  problem.kv_base = state_->problem.kv_base;
  if (state_->lists) check_lists(*state_->lists, problem);
  return run_backward(*state_->core, *state_->prepared,
                      {.program = state_->program,
                       .problem = problem,
                       .inputs = inputs,
                       .outputs = outputs,
                       .lists = state_->lists ? &*state_->lists : nullptr,
                       .lists_map = state_->lists_map ? &*state_->lists_map : nullptr});
}

void Attention::prepare_backward(const GradientSet& gradients) const {
  const auto stage =
      state_->prepared->gradient(state_->program, derivatives_for(state_->program, gradients));
  for (const backends::Variant& variant : state_->prepared->reachable_variants())
    state_->prepared->backward_kernel(*stage, state_->problem, variant, true);
}

}  // namespace tilewright
