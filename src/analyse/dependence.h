#pragma once

#include <vector>

#include "analyse/facts.h"
#include "ir/program.h"

namespace tilewright::analyse {

/// What each node depends on, through its operands, guards included.
std::vector<Dependence> dependence(const ir::Program& program);

/// Where a node with this dependence is computed.
Placement placement(const Dependence& dependence);

}  // namespace tilewright::analyse
