#pragma once

#include <string>

#include "io/json.h"
#include "tilewright/engine.h"

namespace tilewright::cli {

/// What comparing a call's outputs with the fp64 meaning found.
struct MeaningCheck {
  bool passed = false;
  double max_error = 0;  ///< of out
  double max_bound = 0;
  double mean_error = 0;
  double mean_bound = 0;
  std::string reason;  ///< what failed; empty where passed
};

/// Computes the fp64 meaning and a plain dense attention of the same call, and applies the rule of
/// docs/semantics.md (Tolerance) to out, lse and max_scores. Slow: one thread, every pair.
MeaningCheck check_meaning(const Program& program, const ForwardInputs& inputs,
                           const ForwardOutputs& outputs, const CallOptions& options);

io::Json to_json(const MeaningCheck& check);
std::string to_text(const MeaningCheck& check);

}  // namespace tilewright::cli
