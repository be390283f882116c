#include "ir/written_operands.h"

#include "ir/op.h"

namespace tilewright::ir {

namespace {

bool reads_back(const Program& program, Op op, std::span<const NodeId> written) {
  std::vector<Type> types;
  for (const NodeId operand : written) types.push_back(program.node(operand).type);
  return resolve(row(op).fn, types) == op;
}

}  // namespace

NodeId without_promotions(const Program& program, NodeId id) {
  while (program.node(id).op == Op::int_to_float || program.node(id).op == Op::bool_to_int)
    id = program.operands(id)[0];
  return id;
}

std::vector<NodeId> written_operands(const Program& program, NodeId id) {
  const Op op = program.node(id).op;
  const auto operands = program.operands(id);
  std::vector<NodeId> written(operands.begin(), operands.end());
  if (is_leaf(op)) {
    for (std::size_t i = 0; i + 1 < written.size(); ++i)
      written[i] = without_promotions(program, written[i]);
    return written;
  }
  const std::size_t count = row(op).written_operands();
  for (std::size_t kept = 0; kept <= count; ++kept) {
    for (std::size_t i = 0; i < count; ++i)
      written[i] = i < kept ? operands[i] : without_promotions(program, operands[i]);
    if (reads_back(program, op, {written.data(), count})) break;
  }
  return written;
}

}  // namespace tilewright::ir
