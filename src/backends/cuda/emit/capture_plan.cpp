#include "backends/cuda/emit/capture_plan.h"

#include <algorithm>
#include <map>

namespace tilewright::cuda {

using ir::NodeId;
using ir::Op;

namespace {

/// Subscripts of a load, without its guard.
std::vector<NodeId> subscripts_of(const NodePlan& plan, NodeId load) {
  const auto operands = plan.program.operands(load);
  return {operands.begin(), operands.end() - 1};
}

PlaceScope scope_of(const NodePlan& plan, const std::vector<NodeId>& subscripts) {
  bool rows = false, columns = false, diagonals = false;
  for (const NodeId id : subscripts) {
    rows |= plan.scope[id] == Scope::kRow;
    columns |= plan.scope[id] == Scope::kColumn;
    diagonals |= plan.scope[id] == Scope::kDiagonal;
    if (plan.scope[id] == Scope::kScore) return PlaceScope::kPair;
  }
  if (rows + columns + diagonals > 1) return PlaceScope::kPair;
  if (rows) return PlaceScope::kRow;
  if (columns) return PlaceScope::kColumn;
  return diagonals ? PlaceScope::kDiagonal : PlaceScope::kHead;
}

/// A subscript that is q or kv itself is never negative, so it never wraps.
bool is_distinct(const NodePlan& plan, const std::vector<NodeId>& subscripts, PlaceScope scope) {
  const auto has = [&](Op op) {
    return std::ranges::any_of(subscripts,
                               [&](NodeId id) { return plan.program.node(id).op == op; });
  };
  switch (scope) {
    case PlaceScope::kHead:
      return true;
    case PlaceScope::kRow:
      return has(Op::kQuery);
    case PlaceScope::kColumn:
      return has(Op::kKey);
    case PlaceScope::kPair:
      return has(Op::kQuery) && has(Op::kKey);
    case PlaceScope::kDiagonal:
      break;
  }
  return false;
}

}  // namespace

bool CapturePlan::has_gathers() const noexcept {
  return std::ranges::any_of(loads, [](const CaptureLoadPlan& load) {
    return load.scope == PlaceScope::kPair && !load.distinct;
  });
}

bool CapturePlan::has_shared() const noexcept {
  return std::ranges::any_of(targets,
                             [](const CaptureTargetPlan& target) { return target.is_shared; });
}

CapturePlan plan_captures(const NodePlan& plan, const ir::Derivative& derivative) {
  CapturePlan result;
  std::map<std::uint32_t, int> uses;
  for (const ir::LoadDerivative& load : derivative.loads) ++uses[load.capture];
  for (const auto& [capture, count] : uses) result.targets.push_back({.capture = capture});
  for (const ir::LoadDerivative& derived : derivative.loads) {
    CaptureLoadPlan load{
        .capture = derived.capture, .load = derived.load, .factor = derived.factor};
    const auto before = uses.find(derived.capture);
    load.target = static_cast<std::size_t>(std::distance(uses.begin(), before));
    const std::vector<NodeId> subscripts = subscripts_of(plan, derived.load);
    load.scope = scope_of(plan, subscripts);
    load.distinct = is_distinct(plan, subscripts, load.scope);
    result.targets[load.target].is_shared =
        before->second == 1 && load.scope == PlaceScope::kPair && load.distinct;
    result.loads.push_back(load);
  }
  return result;
}

}  // namespace tilewright::cuda
