#pragma once

#include <string>
#include <vector>

#include "backends/cuda/emit/capture_plan.h"
#include "backends/cuda/emit/node_plan.h"
#include "ir/differentiate.h"

namespace tilewright::cuda {

/// `struct EmittedGradient` against attention/backward_mods_contract.cuh, to follow the EmittedMods
/// of the same plan.
std::string gradient_text(const NodePlan& plan, const ir::Derivative& derivative);

/// `struct EmittedCaptures` against attention/capture_contract.cuh, likewise.
std::string captures_text(const NodePlan& plan, const std::vector<CaptureLoadPlan>& loads);

}  // namespace tilewright::cuda
