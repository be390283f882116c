#pragma once

#include <vector>

#include "ir/program.h"

namespace tilewright::ir {

/// The value that is left when the promotions around it are taken away.
NodeId without_promotions(const Program& program, NodeId id);

/// The operands of a node as the text form writes them: promotions are left out where reading puts
/// the same ones back. The guard, where there is one, stays last.
std::vector<NodeId> written_operands(const Program& program, NodeId id);

}  // namespace tilewright::ir
