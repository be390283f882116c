#pragma once

#include <array>
#include <optional>
#include <unordered_map>

#include "ir/graph.h"

namespace tilewright::ir {

/// Float arithmetic on derivatives. Unlike Graph it knows 0 and 1: a derivative that is 0 or 1 by
/// structure disappears from products, whatever the other factor holds.
class DerivativeAlgebra {
 public:
  /// Nodes of `graph` so far are the program's own and are never rewritten.
  explicit DerivativeAlgebra(Graph& graph)
      : graph_(graph), first_own_(static_cast<NodeId>(graph.size())) {}

  /// The same value with literals folded and units dropped.
  NodeId simplified(NodeId id);

  NodeId product(NodeId a, NodeId b);
  NodeId sum(NodeId a, NodeId b);
  NodeId negated(NodeId a);
  NodeId choice(NodeId condition, NodeId yes, NodeId no);
  NodeId zero() { return graph_.literal(0.0); }
  NodeId one() { return graph_.literal(1.0); }

  /// The value of a float literal, also of one that an integer literal promotes to.
  std::optional<double> literal(NodeId id) const;
  bool is(NodeId id, double value) const { return literal(id) == value; }

 private:
  NodeId rebuilt(Op op, std::array<NodeId, 3> operands, std::size_t count);
  NodeId arithmetic(Op op, const std::array<NodeId, 3>& operands, std::size_t count);
  std::optional<NodeId> folded(Op op, const std::array<NodeId, 3>& operands) const;
  std::optional<NodeId> pushed_into_choice(NodeId choice_id, NodeId factor);

  Graph& graph_;
  NodeId first_own_;
  std::unordered_map<NodeId, NodeId> simplified_;
};

}  // namespace tilewright::ir
