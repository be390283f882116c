#include "explain.h"

#include "ir/program.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

std::string facts_text(Prepared& prepared, const Program& program, const Problem& problem) {
  const analyse::BindingFacts facts = prepared.binding_facts(program, problem);
  const backends::Variant variant = prepared.variant(facts);
  std::string text = "facts:\n";
  const auto line = [&text](const char* fact, bool holds) {
    text += std::string("  ") + fact + (holds ? ": yes\n" : ": no\n");
  };
  line("mask depends on b", prepared.facts().mask_depends_on_b);
  line("mask depends on h", prepared.facts().mask_depends_on_h);
  line("mask has row intervals", prepared.facts().mask_has_row_intervals);
  line("integers fit 32 bits", variant.fits_int32);
  line("subscripts and divisors need checks", variant.checked);
  if (facts.score_low && facts.score_high)
    text += "  score lies in [" + std::to_string(*facts.score_low) + ", " +
            std::to_string(*facts.score_high) + "]\n";
  for (const std::string& reason : facts.reasons) text += "  " + reason + "\n";
  return text;
}

std::string source_text(Prepared& prepared, const Program& program, const Problem& problem) {
  const backends::Variant variant = prepared.variant(prepared.binding_facts(program, problem));
  const backends::Source source = prepared.backend().emit({.program = program.structure(),
                                                           .facts = prepared.facts(),
                                                           .plan = prepared.plan(),
                                                           .problem = problem,
                                                           .variant = variant});
  return "source of " + source.kernel_name + " (" + source.toolchain + "):\n" + source.text + "\n";
}

ir::DerivativeRequest every_gradient(const Program& program) {
  ir::DerivativeRequest request;
  for (const ir::CaptureSlot& slot : program.structure().captures())
    request.captures.push_back(is_floating(slot.dtype));
  return request;
}

std::string derivative_text(Prepared& prepared, const Program& program) {
  return ir::derivative_text(prepared.gradient(program, every_gradient(program))->derivative,
                             program.bindings());
}

/// How the gradients of the problem are computed, all of them; compiles what they need.
std::string backward_text(Prepared& prepared, const Program& program, const Problem& problem) {
  Prepared& planned = prepared.for_backward(program, problem);
  const auto stage = planned.gradient(program, every_gradient(program));
  const auto kernel =
      planned.backward_kernel(*stage, problem, planned.variant_of(program, problem), true);
  const bool on_host = problem.device.kind == DeviceKind::kCpu;
  return "backward " + plan::to_text(planned.plan()) +
         "  additions in a fixed order: " + (on_host ? "always" : "on request (deterministic)") +
         "\n  workspace: " + std::to_string(kernel->workspace_bytes(program, problem)) +
         " bytes at most\n";
}

}  // namespace

std::string explain_stage(Prepared& prepared, const Program& program, const Problem& problem,
                          std::string_view stage) {
  if (stage == "program") return program.text();
  if (stage == "facts") return facts_text(prepared, program, problem);
  if (stage == "plan") return plan::to_text(prepared.plan());
  if (stage == "source") return source_text(prepared, program, problem);
  if (stage == "derivative") return derivative_text(prepared, program);
  if (stage == "backward") return backward_text(prepared, program, problem);
  if (stage == "all") {
    return program.text() + "\n" + facts_text(prepared, program, problem) + "\n" +
           plan::to_text(prepared.plan()) + "\n" + source_text(prepared, program, problem);
  }
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "there is no such stage",
               .where = "stage",
               .expected = "program, facts, plan, source, derivative, backward or all",
               .got = std::string(stage),
               .hint = {}});
}

}  // namespace tilewright
