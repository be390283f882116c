#include "support/gradient_cases.h"

#include <algorithm>

#include "ir/program.h"

namespace tilewright::cases {

StepSpec step_spec_of(const CaseSpec& spec, const Program& program) {
  const bool has_captures = std::ranges::any_of(
      program.structure().captures(), [](const auto& slot) { return is_floating(slot.dtype); });
  StepSpec step;
  step.d_out_layout = spec.layout;
  step.d_out_dtype = spec.results.out_dtype;
  // Without a gradient of lse nothing changes that is added to a whole row, nor a row of one key:
  // what would be compared is the rounding of terms that cancel.
  constexpr std::int64_t kFewKeys = 2;
  step.d_lse = spec.results.max_scores || has_captures || spec.extents.kv_len <= kFewKeys;
  return step;
}

CaseResult run_gradient_case(const Case& problem, Engine& engine) {
  CaseResult result;
  const CaseSpec spec = spec_of(problem);
  const std::uint64_t seed = seed_of(problem.id());
  EntryContext context(spec.extents, seed);
  const Program program = spec.entry.make(context);
  TrainingStep step = step_of(random_operands(spec.extents, spec.dtype, seed + 1, spec.layout),
                              seed + 2, step_spec_of(spec, program));
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
