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

/// Which checks a pass makes; they say where nodes that can fail may be computed.
struct PassChecks {
  bool faults = false;      ///< live faults are recorded, so guards count
  bool under_mask = false;  ///< and whether a fault of score_mod is live depends on mask_mod too
};

/// Where each node is computed.
struct NodePlaces {
  std::vector<Scope> scopes;
  /// Of a load that only its guard makes a node per score: where its element is read, in bounds
  /// whatever the guard says. Per score the guard then selects the element or 0.
  std::vector<std::optional<Scope>> early_loads;
};

NodePlaces place_nodes(const ir::Program& program, const analyse::StructureFacts& facts,
                       PassChecks checks);

/// Per integer node, by how much it grows from one kv to the next if that is -1, 0 or 1 for every
/// kv; absent for all others.
std::vector<std::optional<std::int64_t>> kv_steps(const ir::Program& program,
                                                  const std::vector<Scope>& scopes);

}  // namespace tilewright::cpu::jit
