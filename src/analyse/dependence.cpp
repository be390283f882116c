#include "analyse/dependence.h"

namespace tilewright::analyse {

namespace {

Dependence of_leaf(ir::Op op) {
  return {.score = op == ir::Op::kScore,
          .b = op == ir::Op::kBatch,
          .h = op == ir::Op::kHead,
          .q = op == ir::Op::kQuery,
          .kv = op == ir::Op::kKey};
}

void merge(Dependence& into, const Dependence& from) {
  into.score |= from.score;
  into.b |= from.b;
  into.h |= from.h;
  into.q |= from.q;
  into.kv |= from.kv;
}

}  // namespace

std::vector<Dependence> dependence(const ir::Program& program) {
  std::vector<Dependence> all(program.size());
  for (ir::NodeId id = 0; id < program.size(); ++id) {
    all[id] = of_leaf(program.node(id).op);
    for (ir::NodeId operand : program.operands(id)) merge(all[id], all[operand]);
  }
  return all;
}

Placement placement(const Dependence& dependence) {
  if (dependence.score || (dependence.q && dependence.kv)) return Placement::kScore;
  if (dependence.q) return Placement::kRow;
  if (dependence.kv) return Placement::kColumn;
  return dependence.b || dependence.h ? Placement::kTile : Placement::kLaunch;
}

}  // namespace tilewright::analyse
