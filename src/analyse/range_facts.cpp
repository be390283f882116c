#include "analyse/range_facts.h"

#include <cmath>

#include "analyse/assumption.h"
#include "analyse/integer_rules.h"

namespace tilewright::analyse {

using ir::NodeId;
using ir::Op;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr IntRange kInt32{-2147483648LL, 2147483647LL};

bool is_inside(IntRange range, IntRange limits) {
  return range.low >= limits.low && range.high <= limits.high;
}

std::string text(IntRange range) {
  return "[" + std::to_string(range.low) + ", " + std::to_string(range.high) + "]";
}

std::string node_name(const ir::Program& program, NodeId id) {
  const ir::Node& node = program.node(id);
  if (node.op == Op::kLoad) return "load of '" + program.captures()[node.payload].name + "'";
  if (ir::is_leaf(node.op)) return "input %" + std::to_string(id);
  return std::string(ir::row(node.op).fn) + " %" + std::to_string(id);
}

/// Range of the element offset of a load whose subscripts lie inside the tensor.
IntRange offset_range(const RangeQuestion& question, NodeId id) {
  const TensorView& view = question.bindings.captures[question.program.node(id).payload];
  IntRange offset = single(std::int64_t{0});
  for (std::size_t axis = 0; axis < view.rank(); ++axis) {
    if (view.shape[axis] <= 1) continue;
    offset = rule::iadd(offset, rule::imul({0, view.shape[axis] - 1}, single(view.strides[axis])));
  }
  return offset;
}

std::optional<std::string> beyond_int32(const RangeQuestion& question, NodeId id) {
  const ir::Program& program = question.program;
  const ir::Node& node = program.node(id);
  if (node.type == ir::Type::kInt && !is_inside(question.ranges[id].integer, kInt32))
    return node_name(program, id) + " ranges over " + text(question.ranges[id].integer);
  if (node.op == Op::kLoad && !is_inside(offset_range(question, id), kInt32))
    return "element offsets of '" + program.captures()[node.payload].name + "' range over " +
           text(offset_range(question, id));
  if (node.op != Op::shl && node.op != Op::shr) return std::nullopt;
  const IntRange count = question.ranges[program.operands(id)[1]].integer;
  if (is_inside(count, {0, 31})) return std::nullopt;
  return "the shift count of %" + std::to_string(id) + " ranges over " + text(count);
}

/// The conditions under which a node's guard and, for score nodes, the mask hold.
Assumption under_guard(const RangeQuestion& question, NodeId id, bool needs_mask) {
  Assumption assumption(question.program, question.bindings, question.capture_range,
                        question.ranges);
  assumption.assume(question.program.operands(id).back(), true);
  if (needs_mask) assumption.assume(*question.program.roots().mask, true);
  assumption.settle();
  return assumption;
}

/// Nodes that mask_mod does not reach, while there is a mask: they are live only where it holds.
std::vector<bool> masked_nodes(const ir::Program& program) {
  if (!program.roots().mask) return std::vector<bool>(program.size(), false);
  std::vector<bool> masked = program.reachable_from(*program.roots().mask);
  masked.flip();
  return masked;
}

std::optional<std::string> leaves_tensor(const RangeQuestion& question, NodeId id,
                                         const Assumption* assumption) {
  const ir::Program& program = question.program;
  const ir::Node& node = program.node(id);
  const TensorView& view = question.bindings.captures[node.payload];
  for (std::size_t axis = 0; axis < view.rank(); ++axis) {
    const NodeId index = program.operands(id)[axis];
    const IntRange range =
        assumption != nullptr ? assumption->integer(index) : question.ranges[index].integer;
    if (is_inside(range, {-view.shape[axis], view.shape[axis] - 1})) continue;
    return "subscript " + std::to_string(axis) + " of '" + program.captures()[node.payload].name +
           "' ranges over " + text(range) + " and the axis has " +
           std::to_string(view.shape[axis]) + " entries";
  }
  return std::nullopt;
}

/// The hull of what the leaves of nested choices hold, without literal infinities: those are
/// scores that drop out.
RealRange finite_hull(const RangeQuestion& question, NodeId id, int depth) {
  constexpr int kMaxDepth = 8;
  const RealRange range = question.ranges[id].real;
  if (std::isinf(range.low) && range.low == range.high) return {kInfinity, -kInfinity, false};
  if (question.program.node(id).op != Op::fselect || depth == kMaxDepth) return range;
  const auto operands = question.program.operands(id);
  const TruthRange condition = question.ranges[operands[0]].truth;
  RealRange all{kInfinity, -kInfinity, false};
  if (condition.can_be_true) all = hull(all, finite_hull(question, operands[1], depth + 1));
  if (condition.can_be_false) all = hull(all, finite_hull(question, operands[2], depth + 1));
  return all;
}

}  // namespace

std::optional<Domain> domain_of(const Problem& problem, std::int64_t margin) {
  if (problem.batch <= 0 || problem.query_heads <= 0 || problem.q_len <= 0 || problem.kv_len <= 0)
    return std::nullopt;
  return Domain{.b = {0, problem.batch - 1},
                .h = {0, problem.query_heads - 1},
                .q = {problem.q_base, problem.q_base + problem.q_len - 1 + margin},
                .kv = {problem.kv_base, problem.kv_base + problem.kv_len - 1 + margin},
                .score = kAnyReal};
}

Fact fits_int32(const RangeQuestion& question) {
  for (NodeId id = 0; id < question.program.size(); ++id)
    if (auto reason = beyond_int32(question, id)) return {false, *std::move(reason)};
  return {true, "every integer, subscript and element offset stays inside int32"};
}

Fact subscripts_in_range(const RangeQuestion& question, bool live) {
  const ir::Program& program = question.program;
  const std::vector<bool> masked = masked_nodes(program);
  for (NodeId id = 0; id < program.size(); ++id) {
    if (program.node(id).op != Op::kLoad) continue;
    auto reason = leaves_tensor(question, id, nullptr);
    if (!reason) continue;
    if (!live) return {false, *std::move(reason)};
    // Kernels move dead subscripts inside the tensor: there must be something inside.
    if (element_count(question.bindings.captures[program.node(id).payload].shape) == 0)
      return {false, *std::move(reason)};
    const Assumption assumption = under_guard(question, id, masked[id]);
    // Kernels move dead subscripts inside the tensor: there must be something inside.
    const bool is_empty =
        element_count(question.bindings.captures[program.node(id).payload].shape) == 0;
    if (assumption.is_impossible() && !is_empty) continue;
    reason = leaves_tensor(question, id, &assumption);
    if (reason) return {false, *std::move(reason)};
  }
  return {true,
          live ? "no live subscript can leave its tensor" : "no subscript can leave its tensor"};
}

Fact divisors_nonzero(const RangeQuestion& question) {
  const ir::Program& program = question.program;
  const std::vector<bool> masked = masked_nodes(program);
  for (NodeId id = 0; id < program.size(); ++id) {
    const Op op = program.node(id).op;
    if (ir::is_leaf(op) || !ir::row(op).has_guard()) continue;
    const NodeId divisor = program.operands(id)[1];
    if (!question.ranges[divisor].integer.contains(0)) continue;
    const Assumption assumption = under_guard(question, id, masked[id]);
    if (assumption.is_impossible() || assumption.excludes_zero(divisor)) continue;
    return {false, "the divisor of " + node_name(program, id) + " ranges over " +
                       text(question.ranges[divisor].integer)};
  }
  return {true, "no live integer division by zero"};
}

std::optional<RealRange> score_bounds(const RangeQuestion& question) {
  if (!question.program.roots().score) return std::nullopt;
  const RealRange bounds = finite_hull(question, *question.program.roots().score, 0);
  const bool finite =
      bounds.has_number() && std::isfinite(bounds.low) && std::isfinite(bounds.high);
  return finite ? std::optional(bounds) : std::nullopt;
}

}  // namespace tilewright::analyse
