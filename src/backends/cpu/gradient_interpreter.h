#pragma once

#include <memory>

#include "backends/cpu/loaded_pass.h"
#include "backends/cpu/score_pass.h"
#include "ir/differentiate.h"

namespace tilewright::cpu {

/// The pass of the backward without a compiler (gradient_pass.h): the same contract as generated
/// code, slower. Keeps a copy of `derivative`.
std::shared_ptr<const LoadedPass> interpret_gradient_pass(const ir::Derivative& derivative,
                                                          const PassVariant& variant);

}  // namespace tilewright::cpu
