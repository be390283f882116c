#pragma once

#include <string>
#include <unordered_map>

#include "backends/cuda/emit/node_plan.h"

namespace tilewright::cuda {

/// How the function that a body belongs to spells what it is given.
struct Surroundings {
  Scope scope = Scope::kScore;  ///< nodes of this scope are computed here
  /// mask() knows nothing of diagonals: their nodes are computed per score there.
  bool has_diagonals = true;
  /// Where stored values lie: "at.row."; empty: not known here.
  std::string head = {}, row = {}, column = {}, diagonal = {};
  /// Leaves, in kernel positions; empty: not known here.
  std::string batch_index = {}, head_index = {}, query = {}, key = {};
  bool query_is_diagonal = false;  ///< query is i - j and key 0: no subscript is known not negative
  std::string prefix = "n";        ///< of the names given to nodes
  /// Besides a guard, what makes a pair live here; empty: nothing.
  std::string live = {};
  std::string live_under_mask = {};  ///< for nodes of score_mod alone
};

/// Statements that compute nodes, in the order in which they are asked for.
class Body {
 public:
  Body(const NodePlan& plan, Surroundings around) : plan_(plan), around_(std::move(around)) {}

  /// The node's value in its own type, as an expression without side effects: a name, a member, a
  /// literal.
  std::string value(ir::NodeId id);
  /// The value as score_mod's arithmetic takes it: fp32.
  std::string score_value(ir::NodeId id);

  /// The number of the element that a load reads, row-major; -1 outside its tensor.
  std::string place(ir::NodeId load);

  /// The subscripts of a load as arguments, a comma in front of each.
  std::string subscripts(ir::NodeId load);

  bool knows(ir::NodeId id) const { return known_.contains(id); }
  /// Says how a node that is not known yet is computed.
  void define(ir::NodeId id, const std::string& expression);

  /// Statements so far, indented by four.
  const std::string& text() const { return text_; }
  const Surroundings& around() const { return around_; }

  /// The node's C++ type: float, double, Int, i64 or bool.
  static std::string type(const NodePlan& plan, ir::NodeId id);

 private:
  std::string leaf(ir::NodeId id) const;
  std::string number(ir::NodeId id) const;
  std::string load(ir::NodeId id);
  std::string row(ir::NodeId id);
  std::string operand(ir::NodeId user, ir::NodeId id);
  std::string subscript(ir::NodeId load, ir::NodeId id);
  std::string live(ir::NodeId id);
  std::string divisor(ir::NodeId id);
  /// Where a stored value of another scope lies; empty if it is to be computed here.
  std::string member(ir::NodeId id) const;
  std::string position(const std::string& index, const char* base) const;

  const NodePlan& plan_;
  Surroundings around_;
  std::string text_;
  std::unordered_map<ir::NodeId, std::string> known_;
};

}  // namespace tilewright::cuda
