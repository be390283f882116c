#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyse/facts.h"
#include "ir/program.h"

namespace tilewright::cpu::jit {

/// Where the pass computes a node: once per call of the pass, per row, per column (kept in
/// column_scratch for all rows) or per score.
enum class Scope : std::uint8_t { kTile, kRow, kColumn, kScore };

/// Loads, and divisions of integers: the nodes that have a guard.
bool can_fail(const ir::Node& node);

/// Scopes of every node. Where `check_under_mask` is set, loads and divisions of score_mod alone
/// that can fail stay per score: whether they are live there depends on mask_mod.
std::vector<Scope> place_nodes(const ir::Program& program, const analyse::StructureFacts& facts,
                               bool check_under_mask);

/// Per integer node, by how much it grows from one kv to the next if that is -1, 0 or 1 for every
/// kv; absent for all others.
std::vector<std::optional<std::int64_t>> kv_steps(const ir::Program& program,
                                                  const std::vector<Scope>& scopes);

}  // namespace tilewright::cpu::jit
