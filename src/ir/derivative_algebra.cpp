#include "ir/derivative_algebra.h"

#include <bit>
#include <span>

namespace tilewright::ir {

std::optional<double> DerivativeAlgebra::literal(NodeId id) const {
  const Node& node = graph_.node(id);
  if (node.op == Op::int_to_float) {
    const Node& integer = graph_.node(graph_.operands(id)[0]);
    if (integer.op != Op::kLiteral) return std::nullopt;
    return static_cast<double>(static_cast<std::int64_t>(integer.payload));
  }
  if (node.op != Op::kLiteral || node.type != Type::kFloat) return std::nullopt;
  return std::bit_cast<double>(node.payload);
}

NodeId DerivativeAlgebra::simplified(NodeId id) {
  if (id < first_own_) return id;
  if (const auto known = simplified_.find(id); known != simplified_.end()) return known->second;
  const Node node = graph_.node(id);
  NodeId result = id;
  if (const auto value = literal(id)) {
    result = graph_.literal(*value);
  } else if (!is_leaf(node.op)) {
    std::array<NodeId, 3> operands{};
    const std::size_t count = node.operand_count;
    // Simplifying adds nodes, which may move the operand array.
    for (std::size_t i = 0; i < count; ++i) operands[i] = graph_.operands(id)[i];
    for (std::size_t i = 0; i < count; ++i) operands[i] = simplified(operands[i]);
    result = rebuilt(node.op, operands, count);
  }
  simplified_[id] = result;
  return result;
}

NodeId DerivativeAlgebra::rebuilt(Op op, std::array<NodeId, 3> operands, std::size_t count) {
  if (op == Op::fselect) return choice(operands[0], operands[1], operands[2]);
  if (const auto known = folded(op, operands)) return *known;
  return arithmetic(op, operands, count);
}

NodeId DerivativeAlgebra::arithmetic(Op op, const std::array<NodeId, 3>& operands,
                                     std::size_t count) {
  const auto [a, b, unused] = operands;
  switch (op) {
    case Op::add:
      return sum(a, b);
    case Op::mul:
      return product(a, b);
    case Op::neg:
      return negated(a);
    case Op::sub:
      if (is(b, 0)) return a;
      if (is(a, 0)) return negated(b);
      break;
    case Op::div:
      if (is(b, 1) || is(a, 0)) return a;
      break;
    case Op::pow:
      if (is(b, 1)) return a;
      if (is(b, 0)) return one();
      break;
    default:
      break;
  }
  return graph_.apply(op, std::span<const NodeId>(operands.data(), count));
}

std::optional<NodeId> DerivativeAlgebra::folded(Op op,
                                                const std::array<NodeId, 3>& operands) const {
  const auto a = literal(operands[0]);
  const auto b = literal(operands[1]);
  if (!a || !b) return std::nullopt;
  switch (op) {
    case Op::add:
      return graph_.literal(*a + *b);
    case Op::sub:
      return graph_.literal(*a - *b);
    case Op::mul:
      return graph_.literal(*a * *b);
    case Op::div:
      return graph_.literal(*a / *b);
    case Op::feq:
      return graph_.literal(*a == *b);
    case Op::flt:
      return graph_.literal(*a < *b);
    case Op::fle:
      return graph_.literal(*a <= *b);
    default:
      return std::nullopt;
  }
}

NodeId DerivativeAlgebra::negated(NodeId a) {
  if (const auto value = literal(a)) return *value == 0 ? zero() : graph_.literal(-*value);
  if (graph_.node(a).op == Op::neg) return graph_.operands(a)[0];
  return graph_.apply(Op::neg, std::array{a});
}

NodeId DerivativeAlgebra::sum(NodeId a, NodeId b) {
  if (is(a, 0)) return b;
  if (is(b, 0)) return a;
  return graph_.apply(Op::add, std::array{a, b});
}

NodeId DerivativeAlgebra::choice(NodeId condition, NodeId yes, NodeId no) {
  return graph_.apply(Op::fselect, std::array{condition, yes, no});
}

/// select(c, x, 0) * f = select(c, x * f, 0): where c is false, f may hold anything.
std::optional<NodeId> DerivativeAlgebra::pushed_into_choice(NodeId choice_id, NodeId factor) {
  if (graph_.node(choice_id).op != Op::fselect) return std::nullopt;
  const NodeId condition = graph_.operands(choice_id)[0];
  const NodeId yes = graph_.operands(choice_id)[1];
  const NodeId no = graph_.operands(choice_id)[2];
  if (!is(yes, 0) && !is(no, 0)) return std::nullopt;
  const NodeId scaled_yes = product(yes, factor);
  return choice(condition, scaled_yes, product(no, factor));
}

NodeId DerivativeAlgebra::product(NodeId a, NodeId b) {
  if (is(a, 0) || is(b, 0)) return zero();
  if (is(a, 1)) return b;
  if (is(b, 1)) return a;
  if (is(a, -1)) return negated(b);
  if (is(b, -1)) return negated(a);
  if (const auto pushed = pushed_into_choice(a, b)) return *pushed;
  if (const auto pushed = pushed_into_choice(b, a)) return *pushed;
  return graph_.apply(Op::mul, std::array{a, b});
}

}  // namespace tilewright::ir
