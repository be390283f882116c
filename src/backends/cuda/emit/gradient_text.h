#pragma once

#include <string>

#include "backends/cuda/emit/node_plan.h"
#include "ir/differentiate.h"

namespace tilewright::cuda {

/// `struct EmittedGradient` against attention/backward_mods_contract.cuh, to follow the EmittedMods
/// of the same plan.
std::string gradient_text(const NodePlan& plan, const ir::Derivative& derivative);

}  // namespace tilewright::cuda
