#pragma once

#include "backends/reference/forward.h"
#include "ir/differentiate.h"
#include "tilewright/backward.h"

namespace tilewright::reference {

/// What a backward computes, tensors apart. The parts outlive the call.
struct BackwardCall {
  const ir::Program& program;  ///< the forward's; derivative is made from it
  const ir::Derivative& derivative;
  const ir::Bindings& bindings;
  const Problem& problem;
  const ListedTiles* listed = nullptr;
  const TensorView* kv_lengths = nullptr;
  Arithmetic arithmetic = Arithmetic::kMeaning;
};

/// Semantics R6 and R7 written down, one row after another. p and the row sums come from the lse
/// and out of the inputs, so that a part of a longer sequence is a call of its own. Scratch is two
/// heads of key and value and one copy of each captured tensor. Throws as forward().
void backward(const BackwardCall& call, const BackwardInputs& inputs,
              const BackwardOutputs& outputs);

}  // namespace tilewright::reference
