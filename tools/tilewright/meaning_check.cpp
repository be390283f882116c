#include "meaning_check.h"

#include "base/formatted.h"
#include "io/json.h"
#include "support/comparison.h"
#include "support/forward.h"

namespace tilewright::cli {

namespace {

void add_rows(MeaningCheck& check, const char* output, const TensorView& rows,
              const TensorView& meaning, DType dtype) {
  const cases::Verdict verdict = cases::compare_rows(rows, meaning, dtype);
  if (verdict.passed || !check.passed) return;
  check.passed = false;
  check.reason = std::string(output) + ": " + verdict.reason;
}

}  // namespace

MeaningCheck check_meaning(const Program& program, const ForwardInputs& inputs,
                           const ForwardOutputs& outputs, const CallOptions& options) {
  const cases::Reference reference =
      cases::reference_of(program, inputs, options, outputs.out.dtype);
  const DType dtype = inputs.query.dtype;
  const cases::Verdict out = cases::compare_out(outputs.out, reference, dtype);
  MeaningCheck check{.passed = out.passed,
                     .max_error = out.max_error,
                     .max_bound = out.max_bound,
                     .mean_error = out.mean_error,
                     .mean_bound = out.mean_bound,
                     .reason = out.passed ? "" : "out: " + out.reason};
  if (outputs.lse) add_rows(check, "lse", *outputs.lse, reference.lse, dtype);
  if (outputs.max_scores) {
    add_rows(check, "max_scores", *outputs.max_scores, reference.max_scores, dtype);
  }
  return check;
}

io::Json to_json(const MeaningCheck& check) {
  return {{"passed", check.passed},         {"max_error", check.max_error},
          {"max_bound", check.max_bound},   {"mean_error", check.mean_error},
          {"mean_bound", check.mean_bound}, {"reason", check.reason}};
}

std::string to_text(const MeaningCheck& check) {
  return formatted("max error {:.2e} (allowed {:.2e}), mean error {:.2e} (allowed {:.2e}): {}",
                   check.max_error, check.max_bound, check.mean_error, check.mean_bound,
                   check.passed ? "passed" : "FAILED, " + check.reason);
}

}  // namespace tilewright::cli
