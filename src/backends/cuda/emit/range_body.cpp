#include "backends/cuda/emit/range_body.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::cuda {

using ir::NodeId;
using ir::Op;

namespace {

constexpr std::size_t kMaxPyramids = 8;

/// Float rows that real_ranges.cuh has no rule for.
bool has_no_rule(Op op) {
  return (op >= Op::exp && op <= Op::softplus && op != Op::relu) || op == Op::ffloor_mod ||
         op == Op::ftrunc_mod;
}

bool on_rows_alone(const NodePlan& plan, NodeId id) {
  const analyse::Dependence& on = plan.facts.dependence[id];
  return on.q && !on.kv;
}

bool is_single(const NodePlan& plan, NodeId id) {
  const analyse::Dependence& on = plan.facts.dependence[id];
  return !on.q && !on.kv;
}

}  // namespace

bool is_kept_in_band(const NodePlan& plan, NodeId id) {
  if (!on_rows_alone(plan, id)) return false;
  const auto operands = plan.program.operands(id);
  const ir::Node& node = plan.program.node(id);
  if (can_fail(node)) return true;
  return std::ranges::any_of(operands,
                             [&](NodeId operand) { return is_kept_in_band(plan, operand); });
}

Surroundings RangeBody::surroundings() {
  return {.scope = Scope::kScore, .has_diagonals = false, .head = "head.", .prefix = "v"};
}

std::string RangeBody::type(const NodePlan& plan, NodeId id) {
  switch (plan.program.node(id).type) {
    case ir::Type::kFloat:
      return plan.is_double(id) ? "mods::RealRange<double>" : "mods::RealRange<float>";
    case ir::Type::kInt:
      return "mods::IntRange<Int>";
    case ir::Type::kBool:
      break;
  }
  return "mods::TruthRange";
}

std::string RangeBody::set(NodeId id) const {
  return plan_.program.node(id).type == ir::Type::kFloat ? "F" : "R";
}

std::string RangeBody::range(NodeId id) {
  const auto found = known_.find(id);
  if (found != known_.end()) return found->second;
  std::string name = "r" + std::to_string(id);
  if (!band_.empty() && is_kept_in_band(plan_, id)) return known_[id] = band_ + name;
  std::string text;
  if (is_single(plan_, id)) {
    text = single(id);
  } else {
    switch (plan_.program.node(id).op) {
      case Op::kQuery:
      case Op::kKey:
        text = leaf(id);
        break;
      case Op::kLoad:
        text = load(id);
        break;
      default:
        text = row(id);
    }
  }
  text_ += fmt::format("    const {} {} = {};\n", type(plan_, id), name, text);
  return known_[id] = std::move(name);
}

std::string RangeBody::single(NodeId id) {
  const bool is_truth = plan_.program.node(id).type == ir::Type::kBool;
  return fmt::format("{}::{}({})", set(id), is_truth ? "truth" : "single", values_.value(id));
}

std::string RangeBody::leaf(NodeId id) {
  const bool is_key = plan_.program.node(id).op == Op::kKey;
  const char* axis = is_key ? "kv" : "q";
  return fmt::format(
      "{{I::iadd(Int(tile.{0}_begin), Int(bindings.{0}_base)), "
      "I::iadd(Int(tile.{0}_end - 1), Int(bindings.{0}_base))}}",
      axis);
}

std::string RangeBody::any(NodeId id) const {
  return plan_.program.node(id).type == ir::Type::kBool ? "{true, true}" : set(id) + "::any()";
}

std::string RangeBody::row(NodeId id) {
  const ir::OpRow& row = ir::row(plan_.program.node(id).op);
  const auto operands = plan_.program.operands(id);
  if (has_no_rule(row.op)) return any(id);
  const bool reads_floats = row.signature.find('f') != std::string_view::npos;
  const bool is_real = row.result == ir::Type::kFloat || reads_floats;
  std::string arguments;
  for (std::size_t i = 0; i < row.written_operands(); ++i)
    arguments += (i > 0 ? ", " : "") + range(operands[i]);
  const bool to_int = row.op == Op::float_to_int;
  return fmt::format("{}::{}({})", is_real ? "F" : "R",
                     to_int ? "float_to_int<Int>" : std::string(row.id), arguments);
}

std::optional<std::size_t> RangeBody::pyramid(std::uint32_t capture, std::uint32_t axis) {
  const DType dtype = plan_.program.captures()[capture].dtype;
  // The cells are fp32.
  if (dtype == DType::kF64) return std::nullopt;
  const PyramidRequest wanted{.capture = capture, .axis = axis};
  const auto found = std::ranges::find(pyramids_, wanted);
  const auto index = static_cast<std::size_t>(found - pyramids_.begin());
  if (found != pyramids_.end()) return index;
  if (pyramids_.size() == kMaxPyramids) return std::nullopt;
  pyramids_.push_back(wanted);
  return index;
}

/// The number of the line among all lines, row-major over the other axes; -1 where a subscript
/// lies outside.
std::string RangeBody::line(NodeId id, std::size_t axis) {
  const auto operands = plan_.program.operands(id);
  const auto slot = plan_.program.node(id).payload;
  std::string text = "i64{0}";
  for (std::size_t other = 0; other + 1 < operands.size(); ++other) {
    if (other == axis) continue;
    text = fmt::format("mods::next_line({}, i64{{{}}}, bindings.c{}.extent[{}])", text,
                       values_.value(operands[other]), slot, other);
  }
  return text;
}

std::string RangeBody::may_be_dead(NodeId id) {
  const NodeId guard = plan_.program.operands(id).back();
  const ir::Node& node = plan_.program.node(guard);
  if (node.op == Op::kLiteral && node.payload != 0) return "false";
  return range(guard) + ".can_be_false";
}

std::string RangeBody::load(NodeId id) {
  const auto operands = plan_.program.operands(id);
  std::optional<std::size_t> axis;
  for (std::size_t other = 0; other + 1 < operands.size(); ++other) {
    if (is_single(plan_, operands[other])) continue;
    if (axis) return any(id);
    axis = other;
  }
  // Only the guard moves with the tile: the element itself is as good as unknown.
  if (!axis) return any(id);
  const auto slot = static_cast<std::uint32_t>(plan_.program.node(id).payload);
  const auto found = pyramid(slot, static_cast<std::uint32_t>(*axis));
  if (!found) return any(id);
  const ir::Type type = plan_.program.node(id).type;
  std::string function = "mods::entries_range<Int>";
  if (type == ir::Type::kFloat)
    function = fmt::format("mods::real_entries_range<{}, Int>", Body::type(plan_, id));
  std::string text = fmt::format("{}(bindings.p{}, {}, {}, {})", function, *found, line(id, *axis),
                                 range(operands[*axis]), may_be_dead(id));
  return type == ir::Type::kBool ? "mods::truth_of(" + text + ")" : text;
}

}  // namespace tilewright::cuda
