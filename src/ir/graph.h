#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/node.h"
#include "ir/program.h"

namespace tilewright::ir {

/// Builds a program. Adding a node is optimising: equal nodes are shared, truth values and choices
/// are simplified on the way in, so no clean-up pass follows. Float arithmetic is never rearranged.
class Graph {
 public:
  NodeId input(Op op);
  NodeId literal(double value);
  NodeId literal(std::int64_t value);
  NodeId literal(bool value);

  /// A new slot each time; the same value twice is two slots, so that a program's structure never
  /// depends on values.
  NodeId number(NumberSlot slot, NumberValue value);
  std::uint32_t capture(CaptureSlot slot, const TensorView& view);

  /// An element of a captured tensor; one integer index per axis, reached where `guard` holds.
  NodeId load(std::uint32_t capture, std::span<const NodeId> indices, NodeId guard);

  /// Applies the function by its text name with promotions (semantics R9). `guard` matters to
  /// integer division only. Throws Error{kTrace} naming the function and the operand types where no
  /// row accepts them.
  NodeId call(std::string_view fn, std::span<const NodeId> operands, NodeId guard);
  NodeId call(std::string_view fn, std::initializer_list<NodeId> operands, NodeId guard) {
    return call(fn, std::span<const NodeId>(operands.begin(), operands.size()), guard);
  }

  /// Converts to `type` by promotion. Throws Error{kTrace} for a demotion.
  NodeId promote(NodeId id, Type type);

  /// The same node made from rows whose operand types already fit.
  NodeId apply(Op op, std::span<const NodeId> operands);

  const Node& node(NodeId id) const { return nodes_[id]; }
  Type type(NodeId id) const { return nodes_[id].type; }
  std::span<const NodeId> operands(NodeId id) const {
    return {operands_.data() + nodes_[id].operand_begin, nodes_[id].operand_count};
  }
  bool is_literal(NodeId id, bool value) const;
  const std::vector<CaptureSlot>& captures() const { return captures_; }
  const Bindings& bindings() const { return bindings_; }
  std::size_t size() const { return nodes_.size(); }

  /// Keeps what the roots need, in canonical order. Captures that nothing reads stay, at the end
  /// (their gradient is 0).
  std::pair<Program, Bindings> finish(const Roots& roots) const;

 private:
  NodeId intern(Node node, std::span<const NodeId> operands);
  /// Where in `interned_` such a node is, or would go.
  std::size_t place_of(const Node& node, std::span<const NodeId> operands) const;
  void grow_table();
  NodeId simplify_bool(Op op, std::span<const NodeId> operands);
  NodeId simplify_select(Op op, std::span<const NodeId> operands);
  NodeId literal_exponent(NodeId exponent);

  std::vector<Node> nodes_;
  std::vector<NodeId> operands_;
  std::vector<CaptureSlot> captures_;
  std::vector<NumberSlot> numbers_;
  Bindings bindings_;
  /// Places of nodes by hash, open addressing; kNoNode where free. Its size is a power of two.
  std::vector<NodeId> interned_;
};

}  // namespace tilewright::ir
