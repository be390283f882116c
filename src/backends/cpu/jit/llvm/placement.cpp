#include "backends/cpu/jit/llvm/placement.h"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "base/check.h"

namespace tilewright::cpu::jit {

namespace {

using ir::NodeId;
using ir::Op;

Scope scope_of(analyse::Placement placement) {
  switch (placement) {
    case analyse::Placement::kLaunch:
    case analyse::Placement::kTile:
      return Scope::kTile;
    case analyse::Placement::kRow:
      return Scope::kRow;
    case analyse::Placement::kColumn:
      return Scope::kColumn;
    case analyse::Placement::kScore:
      break;
  }
  return Scope::kScore;
}

/// What depends on a row and on a column is computed per score.
Scope widest_scope(const std::vector<Scope>& scopes, std::span<const NodeId> operands) {
  Scope widest = Scope::kTile;
  for (const NodeId operand : operands) {
    const Scope scope = scopes[operand];
    const bool crosses = scope != widest && scope != Scope::kTile && widest != Scope::kTile;
    widest = crosses ? Scope::kScore : std::max(widest, scope);
  }
  return widest;
}

std::vector<Scope> scopes_with_faults(const ir::Program& program,
                                      const analyse::StructureFacts& facts, bool under_mask) {
  std::vector<bool> in_mask(program.size());
  if (program.roots().mask) in_mask = program.reachable_from(*program.roots().mask);
  std::vector<Scope> scopes(program.size());
  for (NodeId id = 0; id < program.size(); ++id) {
    scopes[id] = scope_of(facts.placement[id]);
    const bool waits_for_mask = under_mask && !in_mask[id] && can_fail(program.node(id));
    if (waits_for_mask) scopes[id] = Scope::kScore;
    for (const NodeId operand : program.operands(id))
      if (scopes[operand] == Scope::kScore) scopes[id] = Scope::kScore;
  }
  return scopes;
}

}  // namespace

bool can_fail(const ir::Node& node) {
  return node.op == Op::kLoad || (!ir::is_leaf(node.op) && ir::row(node.op).has_guard());
}

NodePlaces place_nodes(const ir::Program& program, const analyse::StructureFacts& facts,
                       PassChecks checks) {
  TILEWRIGHT_CHECK(facts.placement.size() == program.size());
  NodePlaces places{.scopes = {}, .early_loads = std::vector<std::optional<Scope>>(program.size())};
  if (checks.faults) {
    places.scopes = scopes_with_faults(program, facts, checks.under_mask);
    return places;
  }
  for (NodeId id = 0; id < program.size(); ++id) {
    const auto operands = program.operands(id);
    if (operands.empty()) {
      places.scopes.push_back(scope_of(facts.placement[id]));
      continue;
    }
    // Nobody looks at the guard of a division that cannot fail.
    const bool has_guard = can_fail(program.node(id));
    const Scope unguarded =
        widest_scope(places.scopes, has_guard ? operands.first(operands.size() - 1) : operands);
    const bool is_load = program.node(id).op == Op::kLoad;
    places.scopes.push_back(is_load ? widest_scope(places.scopes, operands) : unguarded);
    if (places.scopes[id] == Scope::kScore && unguarded != Scope::kScore)
      places.early_loads[id] = unguarded;
  }
  return places;
}

std::vector<std::optional<std::int64_t>> kv_steps(const ir::Program& program,
                                                  const std::vector<Scope>& scopes) {
  std::vector<std::optional<std::int64_t>> steps(program.size());
  for (NodeId id = 0; id < program.size(); ++id) {
    const Op op = program.node(id).op;
    if (scopes[id] <= Scope::kRow) steps[id] = 0;
    if (op == Op::kKey) steps[id] = 1;
    if (scopes[id] <= Scope::kRow || (op != Op::iadd && op != Op::isub)) continue;
    const auto a = steps[program.operands(id)[0]];
    const auto b = steps[program.operands(id)[1]];
    if (!a || !b) continue;
    const std::int64_t step = op == Op::iadd ? *a + *b : *a - *b;
    if (std::abs(step) <= 1) steps[id] = step;
  }
  return steps;
}

}  // namespace tilewright::cpu::jit
