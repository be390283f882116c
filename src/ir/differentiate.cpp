#include "ir/differentiate.h"

#include <array>
#include <bit>
#include <map>
#include <string_view>
#include <utility>

#include "ir/derivative_algebra.h"
#include "ir/graph.h"
#include "ir/text.h"

namespace tilewright::ir {

namespace {

/// Values of number slots while a structure is copied: none that Graph would take for the small
/// integer exponent of a pow, which is part of the structure.
constexpr NumberValue kNoSmallInteger{.real = 0.5, .integer = 1000};

/// Copies a program into a graph, node by node.
class Copy {
 public:
  Copy(const Program& program, Graph& graph) : program_(program), graph_(graph) {
    for (const CaptureSlot& slot : program.captures()) graph.capture(slot, {});
    for (const NumberSlot& slot : program.numbers())
      numbers_.push_back(graph.number(slot, kNoSmallInteger));
    for (NodeId id = 0; id < program.size(); ++id) nodes_.push_back(copied(id));
  }

  NodeId operator[](NodeId id) const { return nodes_[id]; }

 private:
  NodeId copied(NodeId id) {
    const Node& node = program_.node(id);
    switch (node.op) {
      case Op::kLiteral:
        return literal(node);
      case Op::kNumber:
        return numbers_[node.payload];
      case Op::kLoad: {
        const std::vector<NodeId> operands = operands_of(id);
        return graph_.load(static_cast<std::uint32_t>(node.payload),
                           std::span(operands).first(operands.size() - 1), operands.back());
      }
      default:
        return is_leaf(node.op) ? graph_.input(node.op) : graph_.apply(node.op, operands_of(id));
    }
  }

  NodeId literal(const Node& node) {
    if (node.type == Type::kFloat) return graph_.literal(std::bit_cast<double>(node.payload));
    if (node.type == Type::kBool) return graph_.literal(node.payload != 0);
    return graph_.literal(static_cast<std::int64_t>(node.payload));
  }

  std::vector<NodeId> operands_of(NodeId id) const {
    std::vector<NodeId> operands;
    for (NodeId operand : program_.operands(id)) operands.push_back(nodes_[operand]);
    return operands;
  }

  const Program& program_;
  Graph& graph_;
  std::vector<NodeId> nodes_;
  std::vector<NodeId> numbers_;
};

std::string_view part(std::string_view derivatives, std::size_t operand) {
  for (; operand > 0; --operand) derivatives.remove_prefix(derivatives.find(';') + 1);
  return derivatives.substr(0, derivatives.find(';'));
}

/// Derivatives of every node with respect to one leaf after another.
class Tangents {
 public:
  Tangents(const Program& program, Graph& graph, const Copy& copy)
      : program_(program),
        graph_(graph),
        copy_(copy),
        algebra_(graph),
        needed_(program.reachable_from(*program.roots().score)),
        local_(program.size(), {kNoNode, kNoNode, kNoNode}) {}

  /// d score_mod / d `leaf`; 0 where nothing but integers and truth values lead there.
  NodeId of_score(NodeId leaf) {
    tangents_.assign(program_.size(), algebra_.zero());
    tangents_[leaf] = algebra_.one();
    for (NodeId id = leaf + 1; id <= *program_.roots().score; ++id)
      if (needed_[id] && !is_leaf(program_.node(id).op)) tangents_[id] = tangent(id);
    return tangents_[*program_.roots().score];
  }

  bool is_zero(NodeId id) const { return algebra_.is(id, 0); }
  bool is_needed(NodeId id) const { return needed_[id]; }

 private:
  NodeId tangent(NodeId id) {
    const Node& node = program_.node(id);
    const OpRow& op_row = row(node.op);
    const auto operands = program_.operands(id);
    if (node.type != Type::kFloat || op_row.derivative.empty()) return algebra_.zero();
    if (node.op == Op::fselect)
      return algebra_.choice(copy_[operands[0]], tangents_[operands[1]], tangents_[operands[2]]);
    NodeId total = algebra_.zero();
    for (std::size_t i = 0; i < op_row.written_operands(); ++i) {
      if (op_row.signature[i] != 'f' || is_zero(tangents_[operands[i]])) continue;
      total = algebra_.sum(total, algebra_.product(local(id, i), tangents_[operands[i]]));
    }
    return total;
  }

  /// d node / d operand, once for all leaves.
  NodeId local(NodeId id, std::size_t operand) {
    NodeId& known = local_[id][operand];
    if (known != kNoNode) return known;
    std::map<std::string, NodeId, std::less<>> names{{"y", copy_[id]}};
    const auto operands = program_.operands(id);
    for (std::size_t i = 0; i < operands.size(); ++i)
      names[std::string(1, static_cast<char>('a' + i))] = copy_[operands[i]];
    const std::string_view text = part(row(program_.node(id).op).derivative, operand);
    const NodeId parsed = graph_.promote(parse_expression(graph_, text, names), Type::kFloat);
    return known = algebra_.simplified(parsed);
  }

  const Program& program_;
  Graph& graph_;
  const Copy& copy_;
  DerivativeAlgebra algebra_;
  std::vector<bool> needed_;
  std::vector<std::array<NodeId, 3>> local_;
  std::vector<NodeId> tangents_;
};

/// The derivative where score_mod is the score itself.
Derivative of_identity(const Program& program, const DerivativeRequest& request) {
  Graph graph;
  const Copy copy(program, graph);
  Roots roots;
  if (program.roots().mask) roots.mask = copy[*program.roots().mask];
  if (request.d_score) roots.derivatives.push_back(graph.literal(1.0));
  Derivative derivative;
  derivative.program = std::make_shared<const Program>(graph.finish(roots).first);
  if (request.d_score) derivative.d_score = derivative.program->roots().derivatives.front();
  return derivative;
}

bool is_wanted_load(const Node& node, const DerivativeRequest& request) {
  return node.op == Op::kLoad && node.type == Type::kFloat &&
         node.payload < request.captures.size() && request.captures[node.payload];
}

}  // namespace

Derivative differentiate(const Program& program, const DerivativeRequest& request) {
  if (!program.roots().score) return of_identity(program, request);
  Graph graph;
  const Copy copy(program, graph);
  Tangents tangents(program, graph, copy);
  Roots roots;
  roots.score = copy[*program.roots().score];
  if (program.roots().mask) roots.mask = copy[*program.roots().mask];
  Derivative derivative;
  bool has_d_score = false;
  for (NodeId id = 0; id <= *program.roots().score; ++id) {
    const Node& node = program.node(id);
    const bool is_score = node.op == Op::kScore && request.d_score;
    if (!tangents.is_needed(id)) continue;
    if (!is_score && !is_wanted_load(node, request)) continue;
    const NodeId factor = tangents.of_score(id);
    if (tangents.is_zero(factor)) continue;
    if (is_score) {
      roots.derivatives.insert(roots.derivatives.begin(), factor);
      has_d_score = true;
      continue;
    }
    roots.derivatives.push_back(factor);
    roots.derivatives.push_back(copy[id]);
    derivative.loads.push_back({.capture = static_cast<std::uint32_t>(node.payload)});
  }
  derivative.program = std::make_shared<const Program>(graph.finish(roots).first);
  const std::vector<NodeId>& kept = derivative.program->roots().derivatives;
  auto next = kept.begin();
  if (has_d_score) derivative.d_score = *next++;
  for (LoadDerivative& load : derivative.loads) {
    load.factor = *next++;
    load.load = *next++;
  }
  return derivative;
}

std::string derivative_text(const Derivative& derivative, const Bindings& bindings) {
  const Program& program = *derivative.program;
  const auto text_of = [&](NodeId root) {
    Program::Parts parts;
    parts.nodes.assign(program.nodes().begin(), program.nodes().begin() + root + 1);
    for (NodeId id = 0; id <= root; ++id) {
      parts.nodes[id].operand_begin = static_cast<std::uint32_t>(parts.operands.size());
      for (NodeId operand : program.operands(id)) parts.operands.push_back(operand);
    }
    parts.captures.assign(program.captures().begin(), program.captures().end());
    parts.numbers.assign(program.numbers().begin(), program.numbers().end());
    parts.roots.score = root;
    return print(Program(std::move(parts)), bindings);
  };
  std::string text = "d score_mod / d score:\n";
  text += derivative.d_score ? text_of(*derivative.d_score) : std::string("score = 0.0\n");
  for (const LoadDerivative& load : derivative.loads)
    text += "d score_mod / d " + text_of(load.load) + "is\n" + text_of(load.factor);
  return text;
}

}  // namespace tilewright::ir
