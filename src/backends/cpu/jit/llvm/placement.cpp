#include "backends/cpu/jit/llvm/placement.h"

#include <algorithm>
#include <cstdlib>

namespace tilewright::cpu::jit {

namespace {

using ir::NodeId;
using ir::Op;

Scope joined(Scope a, Scope b) {
  if (a == b) return a;
  const bool row = a == Scope::kRow || b == Scope::kRow;
  const bool column = a == Scope::kColumn || b == Scope::kColumn;
  return row && column ? Scope::kScore : std::max(a, b);
}

Scope leaf_scope(Op op) {
  switch (op) {
    case Op::kScore:
      return Scope::kScore;
    case Op::kQuery:
      return Scope::kRow;
    case Op::kKey:
      return Scope::kColumn;
    default:
      return Scope::kTile;
  }
}

}  // namespace

bool can_fail(const ir::Node& node) {
  return node.op == Op::kLoad || (!ir::is_leaf(node.op) && ir::row(node.op).has_guard());
}

std::vector<Scope> place_nodes(const ir::Program& program, bool check_under_mask) {
  std::vector<bool> in_mask(program.size());
  if (program.roots().mask) in_mask = program.reachable_from(*program.roots().mask);
  std::vector<Scope> scopes(program.size());
  for (NodeId id = 0; id < program.size(); ++id) {
    Scope scope = leaf_scope(program.node(id).op);
    for (const NodeId operand : program.operands(id)) scope = joined(scope, scopes[operand]);
    if (check_under_mask && !in_mask[id] && can_fail(program.node(id))) scope = Scope::kScore;
    scopes[id] = scope;
  }
  return scopes;
}

std::optional<std::int64_t> kv_step(const ir::Program& program, const std::vector<Scope>& scopes,
                                    NodeId id) {
  const Op op = program.node(id).op;
  if (scopes[id] <= Scope::kRow) return 0;
  if (op == Op::kKey) return 1;
  if (op != Op::iadd && op != Op::isub) return {};
  const auto a = kv_step(program, scopes, program.operands(id)[0]);
  const auto b = kv_step(program, scopes, program.operands(id)[1]);
  if (!a || !b) return {};
  const std::int64_t step = op == Op::iadd ? *a + *b : *a - *b;
  return std::abs(step) <= 1 ? std::optional(step) : std::nullopt;
}

}  // namespace tilewright::cpu::jit
