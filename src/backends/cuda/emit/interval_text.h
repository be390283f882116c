#pragma once

#include <string>

#include "backends/cuda/emit/node_plan.h"

namespace tilewright::cuda {

/// The constants of mods_contract.cuh that say how many intervals a row keeps, and whether they
/// hold always.
std::string interval_constants(const NodePlan& plan);

/// Member functions that give the intervals of a row, for a plan that has some: interval(), or the
/// functions of sorted runs; intervals_hold() where the plan has conditions.
std::string interval_text(const NodePlan& plan);

}  // namespace tilewright::cuda
