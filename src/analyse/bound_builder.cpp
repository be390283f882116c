#include "analyse/bound_builder.h"

namespace tilewright::analyse {

using ir::NodeId;
using ir::Op;

BoundBuilder::BoundBuilder(const ir::Program& program) {
  for (NodeId id = 0; id < program.size(); ++id) {
    const auto operands = program.operands(id);
    append(program.node(id), {operands.begin(), operands.end()});
  }
  parts_.captures.assign(program.captures().begin(), program.captures().end());
  parts_.numbers.assign(program.numbers().begin(), program.numbers().end());
  parts_.roots = program.roots();
}

NodeId BoundBuilder::append(ir::Node node, const std::vector<NodeId>& operands) {
  const auto [position, inserted] = known_.try_emplace({node.op, node.type, node.payload, operands},
                                                       static_cast<NodeId>(parts_.nodes.size()));
  // The program's own nodes keep their numbers, so even an equal one is appended.
  const bool is_copy = parts_.captures.empty() && parts_.numbers.empty() && !parts_.roots.mask;
  if (!inserted && !is_copy) return position->second;
  node.operand_begin = static_cast<std::uint32_t>(parts_.operands.size());
  node.operand_count = static_cast<std::uint16_t>(operands.size());
  parts_.operands.insert(parts_.operands.end(), operands.begin(), operands.end());
  parts_.nodes.push_back(node);
  return static_cast<NodeId>(parts_.nodes.size() - 1);
}

NodeId BoundBuilder::integer(std::int64_t value) {
  return append(
      {.op = Op::kLiteral, .type = ir::Type::kInt, .payload = static_cast<std::uint64_t>(value)},
      {});
}

NodeId BoundBuilder::truth(bool value) {
  return append({.op = Op::kLiteral, .type = ir::Type::kBool, .payload = value ? 1U : 0U}, {});
}

NodeId BoundBuilder::number() {
  parts_.numbers.push_back({.name = {}, .type = ir::Type::kInt});
  return append({.op = Op::kNumber, .type = ir::Type::kInt, .payload = parts_.numbers.size() - 1},
                {});
}

NodeId BoundBuilder::apply(Op op, const std::vector<NodeId>& operands) {
  return append({.op = op, .type = ir::row(op).result}, operands);
}

NodeId BoundBuilder::rebuild(NodeId id, const std::vector<NodeId>& operands) {
  return append(parts_.nodes[id], operands);
}

NodeId BoundBuilder::add(NodeId a, NodeId b) {
  if (is_integer(a, 0)) return b;
  return is_integer(b, 0) ? a : apply(Op::iadd, {a, b});
}

NodeId BoundBuilder::sub(NodeId a, NodeId b) {
  return is_integer(b, 0) ? a : apply(Op::isub, {a, b});
}

std::vector<NodeId> BoundBuilder::operands(NodeId id) const {
  const ir::Node& node = parts_.nodes[id];
  const auto begin = parts_.operands.begin() + node.operand_begin;
  return {begin, begin + node.operand_count};
}

bool BoundBuilder::is_integer(NodeId id, std::int64_t value) const {
  const ir::Node& node = parts_.nodes[id];
  return node.op == Op::kLiteral && node.type == ir::Type::kInt &&
         static_cast<std::int64_t>(node.payload) == value;
}

}  // namespace tilewright::analyse
