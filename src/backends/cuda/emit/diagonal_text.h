#pragma once

#include <string>

#include "backends/cuda/emit/node_plan.h"

namespace tilewright::cuda {

/// Member functions of mods_contract.cuh's kDiagonalsRun, where all that a plan keeps for a
/// diagonal are elements of captured tensors that lie side by side for neighbouring diagonals; else
/// nothing.
std::string diagonal_run_text(const NodePlan& plan);

}  // namespace tilewright::cuda
