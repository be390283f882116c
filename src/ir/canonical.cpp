#include <utility>

#include "ir/graph.h"

namespace tilewright::ir {

namespace {

/// Renumbers nodes, numbers and captures by first use in a depth-first walk from the roots.
class Canonical {
 public:
  Canonical(const Graph& graph, const std::vector<NumberSlot>& numbers)
      : graph_(graph),
        numbers_(numbers),
        node_of_(graph.size(), kNoNode),
        number_of_(numbers.size(), kNoNode),
        capture_of_(graph.captures().size(), kNoNode) {}

  NodeId keep(NodeId root) {
    std::vector<std::pair<NodeId, std::size_t>> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      if (node_of_[id] != kNoNode) {
        stack.pop_back();
        continue;
      }
      const auto operands = graph_.operands(id);
      if (next < operands.size()) {
        const NodeId operand = operands[next++];
        stack.emplace_back(operand, 0);
        continue;
      }
      append(id);
      stack.pop_back();
    }
    return node_of_[root];
  }

  void keep_unread() {
    for (std::uint32_t i = 0; i < capture_of_.size(); ++i) capture(i);
    for (std::uint32_t i = 0; i < number_of_.size(); ++i)
      if (!numbers_[i].name.empty()) number(i);
  }

  Program::Parts parts;
  Bindings bindings;

 private:
  void append(NodeId id) {
    Node node = graph_.node(id);
    if (node.op == Op::kLoad) node.payload = capture(static_cast<std::uint32_t>(node.payload));
    if (node.op == Op::kNumber) node.payload = number(static_cast<std::uint32_t>(node.payload));
    node.operand_begin = static_cast<std::uint32_t>(parts.operands.size());
    for (NodeId operand : graph_.operands(id)) parts.operands.push_back(node_of_[operand]);
    node_of_[id] = static_cast<NodeId>(parts.nodes.size());
    parts.nodes.push_back(node);
  }

  std::uint32_t capture(std::uint32_t old) {
    if (capture_of_[old] != kNoNode) return capture_of_[old];
    parts.captures.push_back(graph_.captures()[old]);
    bindings.captures.push_back(graph_.bindings().captures[old]);
    return capture_of_[old] = static_cast<std::uint32_t>(parts.captures.size() - 1);
  }

  std::uint32_t number(std::uint32_t old) {
    if (number_of_[old] != kNoNode) return number_of_[old];
    parts.numbers.push_back(numbers_[old]);
    bindings.numbers.push_back(graph_.bindings().numbers[old]);
    return number_of_[old] = static_cast<std::uint32_t>(parts.numbers.size() - 1);
  }

  const Graph& graph_;
  const std::vector<NumberSlot>& numbers_;
  std::vector<NodeId> node_of_;
  std::vector<std::uint32_t> number_of_;
  std::vector<std::uint32_t> capture_of_;
};

}  // namespace

std::pair<Program, Bindings> Graph::finish(const Roots& roots) const {
  Canonical canonical(*this, numbers_);
  // A mask that is always true and a score that stays itself are no mods at all: their code
  // disappears everywhere.
  if (roots.mask && !is_literal(*roots.mask, true))
    canonical.parts.roots.mask = canonical.keep(*roots.mask);
  if (roots.score && node(*roots.score).op != Op::kScore)
    canonical.parts.roots.score = canonical.keep(*roots.score);
  for (NodeId derivative : roots.derivatives)
    canonical.parts.roots.derivatives.push_back(canonical.keep(derivative));
  canonical.keep_unread();
  return {Program(std::move(canonical.parts)), std::move(canonical.bindings)};
}

}  // namespace tilewright::ir
