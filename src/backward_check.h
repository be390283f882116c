#pragma once

#include "ir/differentiate.h"
#include "tilewright/backward.h"
#include "tilewright/problem.h"
#include "tilewright/program.h"

namespace tilewright {

/// The problem of the forward call that these tensors belong to. Throws Error naming the tensor for
/// every mismatch of shape, dtype or device, gradients included.
Problem problem_from(const BackwardInputs& inputs, const BackwardOutputs& outputs);

/// Which derivatives of the program these outputs need. Throws Error{kInvalidArgument} for captured
/// tensors that the program does not have or that have no gradient.
ir::DerivativeRequest derivatives_for(const Program& program, const BackwardOutputs& outputs);
ir::DerivativeRequest derivatives_for(const Program& program, const GradientSet& gradients);

/// Refuses captured gradients of another shape, dtype or device than their tensor.
void check_capture_gradients(const Program& program, const BackwardOutputs& outputs);

}  // namespace tilewright
