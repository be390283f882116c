#include "backends/cpu/jit/llvm/placement.h"

#include <cstdlib>

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

}  // namespace

bool can_fail(const ir::Node& node) {
  return node.op == Op::kLoad || (!ir::is_leaf(node.op) && ir::row(node.op).has_guard());
}

std::vector<Scope> place_nodes(const ir::Program& program, const analyse::StructureFacts& facts,
                               bool check_under_mask) {
  TILEWRIGHT_CHECK(facts.placement.size() == program.size());
  std::vector<bool> in_mask(program.size());
  if (program.roots().mask) in_mask = program.reachable_from(*program.roots().mask);
  std::vector<Scope> scopes(program.size());
  for (NodeId id = 0; id < program.size(); ++id) {
    scopes[id] = scope_of(facts.placement[id]);
    const bool waits_for_mask = check_under_mask && !in_mask[id] && can_fail(program.node(id));
    if (waits_for_mask) scopes[id] = Scope::kScore;
    for (const NodeId operand : program.operands(id))
      if (scopes[operand] == Scope::kScore) scopes[id] = Scope::kScore;
  }
  return scopes;
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
