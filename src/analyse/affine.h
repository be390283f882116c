#pragma once

#include <optional>
#include <vector>

#include "analyse/facts.h"
#include "ir/program.h"

namespace tilewright::analyse {

/// The affine form of each integer node in q and kv; absent where a node is none, is no integer, or
/// its factors are numbers that a binding may change.
std::vector<std::optional<Affine>> affine(const ir::Program& program,
                                          const std::vector<Dependence>& dependence);

}  // namespace tilewright::analyse
