#include "backends/cuda/emit/body.h"

#include <fmt/format.h>

#include <bit>

#include "backends/cuda/emit/literal_text.h"
#include "base/check.h"

namespace tilewright::cuda {

using ir::NodeId;
using ir::Op;

namespace {

bool is_position(Op op) {
  return op == Op::kBatch || op == Op::kHead || op == Op::kQuery || op == Op::kKey;
}

/// Which set of functions has the row: integers, or the floats of the mask or of the score.
std::string row_set(const NodePlan& plan, NodeId id) {
  const ir::OpRow& row = ir::row(plan.program.node(id).op);
  const bool reads_floats = row.signature.find('f') != std::string_view::npos;
  const bool has_floats = row.result == ir::Type::kFloat || reads_floats;
  if (!has_floats || row.op == Op::float_to_int) return id >= plan.first_appended ? "W" : "I";
  return plan.in_mask[id] ? "M" : "S";
}

}  // namespace

std::string Body::type(const NodePlan& plan, NodeId id) {
  switch (plan.program.node(id).type) {
    case ir::Type::kFloat:
      return plan.is_double(id) ? "double" : "float";
    case ir::Type::kInt:
      return id >= plan.first_appended ? "i64" : "Int";
    case ir::Type::kBool:
      break;
  }
  return "bool";
}

std::string Body::value(NodeId id) {
  const auto found = known_.find(id);
  if (found != known_.end()) return found->second;
  const Op op = plan_.program.node(id).op;
  std::string text = member(id);
  if (text.empty() && ir::is_leaf(op) && op != Op::kLoad) text = leaf(id);
  if (text.empty()) {
    define(id, op == Op::kLoad ? load(id) : row(id));
    return known_.at(id);
  }
  return known_.emplace(id, std::move(text)).first->second;
}

void Body::define(NodeId id, const std::string& expression) {
  std::string name = around_.prefix + std::to_string(id);
  text_ += fmt::format("    const {} {} = {};\n", type(plan_, id), name, expression);
  known_.emplace(id, std::move(name));
}

std::string Body::score_value(NodeId id) {
  const bool narrows = plan_.program.node(id).type == ir::Type::kFloat && plan_.is_double(id);
  return narrows ? "static_cast<float>(" + value(id) + ")" : value(id);
}

std::string Body::member(NodeId id) const {
  const Scope own = plan_.scope[id];
  if (!plan_.stored[id] || own == around_.scope) return {};
  if (own == Scope::kDiagonal && !around_.has_diagonals) return {};
  const std::string& owner = own == Scope::kHead     ? around_.head
                             : own == Scope::kRow    ? around_.row
                             : own == Scope::kColumn ? around_.column
                                                     : around_.diagonal;
  return owner.empty() ? std::string() : owner + "n" + std::to_string(id);
}

std::string Body::position(const std::string& index, const char* base) const {
  TILEWRIGHT_CHECK(!index.empty());
  return fmt::format("I::iadd(Int({}), Int(bindings.{}))", index, base);
}

std::string Body::leaf(NodeId id) const {
  const ir::Node& node = plan_.program.node(id);
  switch (node.op) {
    case Op::kScore:
      return "score";
    case Op::kBatch:
      return "Int(" + around_.batch_index + ")";
    case Op::kHead:
      return "Int(" + around_.head_index + ")";
    case Op::kQuery:
      if (!around_.query_is_diagonal) return position(around_.query, "q_base");
      return fmt::format("I::isub({}, Int(bindings.kv_base))", position(around_.query, "q_base"));
    case Op::kKey:
      return around_.query_is_diagonal ? "Int(0)" : position(around_.key, "kv_base");
    case Op::kNumber:
      return number(id);
    default:
      break;
  }
  if (node.type == ir::Type::kBool) return node.payload != 0 ? "true" : "false";
  if (node.type == ir::Type::kInt) {
    const auto value = static_cast<std::int64_t>(node.payload);
    return id >= plan_.first_appended ? "i64(" + std::to_string(value) + "LL)" : int_text(value);
  }
  const double real = std::bit_cast<double>(node.payload);
  return plan_.is_double(id) ? double_text(real) : float_text(real);
}

std::string Body::number(NodeId id) const {
  const ir::Node& node = plan_.program.node(id);
  if (const auto bound = plan_.run_bound(id))
    return fmt::format("W::iadd(i64(runs[{}].{}), bindings.kv_base)", bound->run,
                       bound->is_end ? "end" : "begin");
  const bool is_wide = node.type == ir::Type::kFloat
                           ? plan_.is_double(id)
                           : !plan_.variant.fits_int32 || id >= plan_.first_appended;
  return fmt::format("bindings.n{}.{}", node.payload, is_wide ? "wide" : "narrow");
}

std::string Body::operand(NodeId user, NodeId id) {
  return plan_.in_mask[user] ? value(id) : score_value(id);
}

std::string Body::row(NodeId id) {
  const ir::OpRow& row = ir::row(plan_.program.node(id).op);
  const auto operands = plan_.program.operands(id);
  std::string arguments;
  for (std::size_t i = 0; i < row.written_operands(); ++i) {
    const bool reports = i == 1 && row.has_guard() && plan_.variant.reports;
    if (i > 0) arguments += ", ";
    arguments += reports ? divisor(id) : operand(id, operands[i]);
  }
  return fmt::format("{}::{}({})", row_set(plan_, id), row.id, arguments);
}

std::string Body::divisor(NodeId id) {
  const std::string written = value(plan_.program.operands(id)[1]);
  return fmt::format("mods::reporting_divisor<Int>(bindings.error, {}, {}, {})", id, written,
                     live(id));
}

/// The guard and, for faults, everything else that a live lane meets.
std::string Body::live(NodeId id) {
  const NodeId guard = plan_.program.operands(id).back();
  const ir::Node& node = plan_.program.node(guard);
  std::string text = node.op == Op::kLiteral && node.payload != 0 ? "" : value(guard);
  if (plan_.variant.reports) {
    const std::string& place = plan_.in_mask[id] ? around_.live : around_.live_under_mask;
    if (!place.empty()) text = text.empty() ? place : text + " && " + place;
  }
  return text.empty() ? "true" : text;
}

std::string Body::subscript(NodeId load, NodeId id) {
  const bool is_wide = load >= plan_.first_appended;
  const bool never_negative = is_position(plan_.program.node(id).op) && !around_.query_is_diagonal;
  const char* type = is_wide ? "i64" : "Int";
  const std::string written = value(id);
  return never_negative ? fmt::format("mods::FromZero<{}>{{{}}}", type, written)
                        : fmt::format("{}({})", type, written);
}

std::string Body::subscripts(NodeId load) {
  const auto operands = plan_.program.operands(load);
  std::string text;
  for (std::size_t axis = 0; axis + 1 < operands.size(); ++axis)
    text += ", " + subscript(load, operands[axis]);
  return text;
}

std::string Body::place(NodeId load) {
  return fmt::format("mods::number_of<{}>(bindings.c{}{})",
                     load >= plan_.first_appended ? "i64" : "Int", plan_.program.node(load).payload,
                     subscripts(load));
}

std::string Body::load(NodeId id) {
  const auto slot = plan_.program.node(id).payload;
  const std::string index_type = id >= plan_.first_appended ? "i64" : "Int";
  // Loads of the bounds of intervals are unguarded: they may leave the tensor.
  const bool is_proven = !plan_.variant.checked && id < plan_.first_appended;
  std::string text = plan_.variant.reports
                         ? fmt::format("mods::reporting_element<{}, {}>(bindings.error, {}, ",
                                       type(plan_, id), index_type, slot)
                         : fmt::format("mods::{}element<{}, {}>(", is_proven ? "proven_" : "",
                                       type(plan_, id), index_type);
  const std::string guard = live(id);
  return text + fmt::format("bindings.c{}, {}{})", slot, guard, subscripts(id));
}

}  // namespace tilewright::cuda
