#include "backends/cuda/emit/node_plan.h"

#include <algorithm>

namespace tilewright::cuda {

namespace {

using ir::NodeId;
using ir::Op;

/// More intervals of a row cost more than asking the mask for each pair.
constexpr std::size_t kMaxIntervals = 4;

/// More tables cost more registers and searches than asking the mask.
constexpr std::size_t kMaxRuns = 2;

/// Work that is worth a register until the value is used; sums, comparisons and choices are done
/// again instead.
bool is_heavy(const ir::Node& node) {
  switch (node.op) {
    case Op::kLoad:
    case Op::div:
    case Op::ffloor_div:
    case Op::ftrunc_div:
    case Op::ffloor_mod:
    case Op::ftrunc_mod:
      return true;
    case Op::isnan:
    case Op::isinf:
    case Op::relu:
      return false;
    default:
      break;
  }
  if (can_fail(node)) return true;
  return node.op >= Op::exp && node.op <= Op::softplus;
}

bool is_head_leaf(const ir::Node& node) { return node.op == Op::kBatch || node.op == Op::kHead; }

class Planner {
 public:
  explicit Planner(const backends::EmitRequest& request) {
    plan_.variant = request.variant;
    choose_intervals(request.program);
    plan_.program = plan_.intervals ? plan_.intervals->program : request.program;
    plan_.facts = analyse::structure_facts(plan_.program);
    plan_.first_appended = static_cast<NodeId>(request.program.size());
  }

  NodePlan run() {
    reach();
    place();
    store();
    return std::move(plan_);
  }

 private:
  /// Intervals need integers that do not wrap. A fault must be found pair by pair.
  void choose_intervals(const ir::Program& program) {
    if (!plan_.variant.fits_int32 || plan_.variant.reports) return;
    auto found = analyse::row_intervals(program);
    if (!found || found->ranges.empty() || found->ranges.size() > kMaxIntervals) return;
    if (!found->runs.empty() && !are_searchable(*found)) return;
    plan_.intervals = std::move(found);
  }

  /// Whether a warp can hold the entries of a tile: they are the same for all rows.
  static bool are_searchable(const analyse::RowIntervals& found) {
    if (found.runs.size() > kMaxRuns) return false;
    const analyse::StructureFacts facts = analyse::structure_facts(found.program);
    return std::ranges::all_of(found.runs, [&](const analyse::SortedRun& run) {
      return std::ranges::none_of(run.indices,
                                  [&](NodeId index) { return facts.dependence[index].q; });
    });
  }

  void reach() {
    const ir::Program& program = plan_.program;
    plan_.in_mask.assign(program.size(), false);
    plan_.in_score.assign(program.size(), false);
    if (program.roots().mask) plan_.in_mask = program.reachable_from(*program.roots().mask);
    if (program.roots().score) plan_.in_score = program.reachable_from(*program.roots().score);
    for (const NodeId derivative : program.roots().derivatives) {
      const std::vector<bool> reached = program.reachable_from(derivative);
      for (NodeId id = 0; id < program.size(); ++id)
        if (reached[id]) plan_.in_score[id] = true;
    }
    for (NodeId id = plan_.first_appended; id < program.size(); ++id) plan_.in_mask[id] = true;
  }

  Scope placed(NodeId id) const {
    switch (plan_.facts.placement[id]) {
      case analyse::Placement::kLaunch:
      case analyse::Placement::kTile:
        return Scope::kHead;
      case analyse::Placement::kRow:
        return Scope::kRow;
      case analyse::Placement::kColumn:
        return Scope::kColumn;
      case analyse::Placement::kScore:
        break;
    }
    return is_diagonal(id) ? Scope::kDiagonal : Scope::kScore;
  }

  /// Whether the node is a function of q - kv, b and h.
  bool is_diagonal(NodeId id) const {
    const analyse::Dependence& on = plan_.facts.dependence[id];
    if (on.score || !on.q || !on.kv || plan_.variant.reports) return false;
    const auto& form = plan_.facts.affine[id];
    if (form) return form->q_factor + form->kv_factor == 0;
    const auto operands = plan_.program.operands(id);
    return std::ranges::all_of(operands, [this](NodeId operand) {
      return plan_.scope[operand] == Scope::kDiagonal || plan_.scope[operand] == Scope::kHead;
    });
  }

  void place() {
    const ir::Program& program = plan_.program;
    plan_.scope.resize(program.size());
    for (NodeId id = 0; id < program.size(); ++id) {
      plan_.scope[id] = placed(id);
      // Whether a load or division of score_mod is live depends on the mask of its pair.
      const bool waits = plan_.variant.reports && !plan_.in_mask[id] && can_fail(program.node(id));
      // Where a run lies is known tile by tile.
      if (waits || plan_.run_bound(id)) plan_.scope[id] = Scope::kScore;
      for (const NodeId operand : program.operands(id))
        if (plan_.scope[operand] == Scope::kScore) plan_.scope[id] = Scope::kScore;
    }
  }

  /// Nodes whose work is worth storing, where a deeper scope reads them or something of their own
  /// scope that it does again.
  void store() {
    const ir::Program& program = plan_.program;
    const std::vector<bool> worthwhile = worth_storing();
    std::vector<bool> read_deeper(program.size());
    for (const NodeId root : roots()) read_deeper[root] = true;
    plan_.stored.assign(program.size(), false);
    for (NodeId id = static_cast<NodeId>(program.size()); id-- > 0;) {
      plan_.stored[id] = read_deeper[id] && worthwhile[id] && plan_.scope[id] != Scope::kScore;
      const bool is_repeated = read_deeper[id] && !plan_.stored[id];
      for (const NodeId operand : program.operands(id))
        if (is_repeated || plan_.scope[operand] != plan_.scope[id]) read_deeper[operand] = true;
    }
  }

  std::vector<bool> worth_storing() const {
    const ir::Program& program = plan_.program;
    std::vector<bool> worthwhile(program.size());
    for (NodeId id = 0; id < program.size(); ++id) {
      worthwhile[id] = is_heavy(program.node(id)) || is_head_leaf(program.node(id));
      for (const NodeId operand : program.operands(id)) {
        const bool shares_scope = plan_.scope[operand] == plan_.scope[id];
        if (worthwhile[operand] && shares_scope && !is_head_leaf(program.node(operand)))
          worthwhile[id] = true;
      }
    }
    return worthwhile;
  }

  /// What is read once a score, or once a row and tile.
  std::vector<NodeId> roots() const {
    std::vector<NodeId> all;
    if (plan_.program.roots().mask) all.push_back(*plan_.program.roots().mask);
    if (plan_.program.roots().score) all.push_back(*plan_.program.roots().score);
    const std::vector<NodeId>& derivatives = plan_.program.roots().derivatives;
    all.insert(all.end(), derivatives.begin(), derivatives.end());
    if (!plan_.intervals) return all;
    for (const analyse::KeyRange& range : plan_.intervals->ranges)
      all.insert(all.end(), {range.begin, range.end});
    for (const analyse::SortedRun& run : plan_.intervals->runs) {
      all.push_back(run.value);
      all.insert(all.end(), run.indices.begin(), run.indices.end());
    }
    all.insert(all.end(), plan_.intervals->positive.begin(), plan_.intervals->positive.end());
    all.insert(all.end(), plan_.intervals->not_negative.begin(),
               plan_.intervals->not_negative.end());
    return all;
  }

  NodePlan plan_;
};

}  // namespace

bool can_fail(const ir::Node& node) {
  return node.op == Op::kLoad || (!ir::is_leaf(node.op) && ir::row(node.op).has_guard());
}

bool NodePlan::has_score() const {
  const auto root = program.roots().score;
  return root && program.node(*root).op != ir::Op::kScore;
}

std::optional<NodePlan::RunBound> NodePlan::run_bound(NodeId id) const {
  if (!has_sorted_runs()) return std::nullopt;
  for (std::size_t run = 0; run < intervals->runs.size(); ++run) {
    if (intervals->runs[run].begin == id) return RunBound{.run = run, .is_end = false};
    if (intervals->runs[run].end == id) return RunBound{.run = run, .is_end = true};
  }
  return std::nullopt;
}

NodePlan plan_nodes(const backends::EmitRequest& request) { return Planner(request).run(); }

}  // namespace tilewright::cuda
