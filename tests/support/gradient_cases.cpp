#include "support/gradient_cases.h"

#include "support/backward.h"
#include "support/case_table.h"

namespace tilewright::cases {

CaseResult run_gradient_case(const Case& problem, Engine& engine) {
  CaseResult result;
  const CaseSpec spec = spec_of(problem);
  const std::uint64_t seed = seed_of(problem.id());
  EntryContext context(spec.extents, seed);
  const Program program = spec.entry.make(context);
  StepSpec step_spec;
  step_spec.d_out_layout = spec.layout;
  step_spec.d_lse = spec.results.max_scores;
  if (spec.results.out_dtype) step_spec.d_out_dtype = spec.results.out_dtype;
  TrainingStep step = step_of(random_operands(spec.extents, spec.dtype, seed + 1, spec.layout),
                              seed + 2, step_spec);
  const CallOptions options{.scale = spec.scale, .block_lists = nullptr};
  const Layout layout = spec.layout == Layout::kExpanded ? Layout::kContiguous : spec.layout;
  Gradients gradients = gradients_for(step, program, true, layout);
  try {
    engine.attention(program, step.operands.inputs(), step.results.outputs(), options);
    result.kernel =
        engine.attention_backward(program, step.inputs(), gradients.outputs(), options).kernel;
  } catch (const std::exception& error) {
    result.reason = error.what();
    return result;
  }
  result.reason = mismatch(gradients, gradient_reference_of(program, step, options), spec.dtype);
  result.outcome = result.reason.empty() ? Outcome::kPassed : Outcome::kFailed;
  return result;
}

CaseResult run_gradient_case(const Case& problem, const Target& target) {
  const auto reason = unavailable_because(target);
  if (!reason) return run_gradient_case(problem, engine_on(target));
  CaseResult result;
  result.outcome = Outcome::kSkipped;
  result.reason = *reason;
  return result;
}

}  // namespace tilewright::cases
