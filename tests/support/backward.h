#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "support/forward.h"
#include "tilewright/backward.h"

namespace tilewright::cases {

/// A forward call with what backward reads of it, and the gradient of its results.
struct TrainingStep {
  Operands operands;
  Results results;  ///< out and lse, once a forward wrote them
  Tensor d_out;
  std::optional<Tensor> d_lse;
  BackwardInputs inputs() const;
};

struct StepSpec {
  std::optional<DType> d_out_dtype = {};  ///< absent: query's
  Layout d_out_layout = Layout::kContiguous;
  bool d_lse = false;
};

/// Normal d_out (and d_lse); results are poisoned.
TrainingStep step_of(Operands operands, std::uint64_t seed, const StepSpec& spec = {});

/// Every gradient of a call, poisoned.
struct Gradients {
  Tensor d_query, d_key, d_value;
  std::map<std::string, Tensor> captures;
  BackwardOutputs outputs() const;
  bool padding_intact() const;
};

/// `everything`: one for each floating capture too.
Gradients gradients_for(const TrainingStep& step, const Program& program, bool everything = true,
                        Layout layout = Layout::kContiguous);

/// What the gradients of a call mean (fp64) and what a plain dense computation makes of them.
struct GradientReference {
  Gradients meaning;
  Gradients plain;  ///< in the dtypes of the call
};

GradientReference gradient_reference_of(const Program& program, const BackwardInputs& inputs,
                                        const CallOptions& options = {});
inline GradientReference gradient_reference_of(const Program& program, const TrainingStep& step,
                                               const CallOptions& options = {}) {
  return gradient_reference_of(program, step.inputs(), options);
}

/// Compares every gradient; empty where all pass, else what failed.
std::string mismatch(const BackwardOutputs& gradients, const GradientReference& reference,
                     DType dtype);
/// The same, and that nothing between the elements was written.
std::string mismatch(const Gradients& gradients, const GradientReference& reference, DType dtype);

/// The names of tensors whose bits differ; empty where none do.
std::string bit_difference(const Gradients& a, const Gradients& b);

/// Forward and backward on an engine.
Gradients train(Engine& engine, const Program& program, TrainingStep& step,
                const CallOptions& options = {});

}  // namespace tilewright::cases
