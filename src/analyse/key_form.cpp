#include "analyse/key_form.h"

#include <algorithm>

namespace tilewright::analyse {

using ir::NodeId;
using ir::Op;

namespace {

constexpr int kMaxFormSteps = 8192;

bool has_guard(const ir::Node& node) {
  return node.op == Op::kLoad || (!ir::is_leaf(node.op) && ir::row(node.op).has_guard());
}

/// For each node whether its value depends on kv other than through guards.
std::vector<bool> values_on_key(const ir::Program& program) {
  std::vector<bool> on_key(program.size(), false);
  for (NodeId id = 0; id < program.size(); ++id) {
    auto operands = program.operands(id);
    if (has_guard(program.node(id))) operands = operands.first(operands.size() - 1);
    // A score is not a value of the row either.
    on_key[id] = program.node(id).op == Op::kKey || program.node(id).op == Op::kScore ||
                 std::ranges::any_of(operands, [&](NodeId operand) { return on_key[operand]; });
  }
  return on_key;
}

}  // namespace

KeyForms::KeyForms(const ir::Program& program, BoundBuilder& builder)
    : program_(program), builder_(builder), on_key_(values_on_key(program)) {}

bool KeyForms::holds(NodeId condition, bool truth) const {
  const ir::Node& node = program_.node(condition);
  if (node.op == Op::kLiteral) return (node.payload != 0) == truth;
  if (std::ranges::find(supposed_, std::pair(condition, truth)) != supposed_.end()) return true;
  const auto operands = program_.operands(condition);
  if (node.op == Op::bnot) return holds(operands[0], !truth);
  if (node.op != (truth ? Op::band : Op::bor)) return false;
  return holds(operands[0], truth) && holds(operands[1], truth);
}

bool KeyForms::guard_is_met(NodeId id) const {
  return !has_guard(program_.node(id)) || holds(program_.operands(id).back(), true);
}

std::optional<NodeId> KeyForms::row_value(NodeId id) {
  if (on_key_[id] || ++steps_ > kMaxFormSteps) return std::nullopt;
  const auto operands = program_.operands(id);
  if (operands.empty()) return id;
  std::vector<NodeId> values(operands.begin(), operands.end());
  const bool guarded = has_guard(program_.node(id));
  const bool met = guard_is_met(id);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (guarded && i + 1 == values.size() && met) {
      values[i] = builder_.truth(true);
      continue;
    }
    const auto value = row_value(operands[i]);
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  return builder_.rebuild(id, values);
}

std::optional<KeyForm> KeyForms::of(NodeId id) {
  if (++steps_ > kMaxFormSteps) return std::nullopt;
  if (!on_key_[id]) {
    const auto value = row_value(id);
    if (!value) return std::nullopt;
    return KeyForm{.factor = 0, .rest = *value};
  }
  const auto operands = program_.operands(id);
  switch (program_.node(id).op) {
    case Op::kKey:
      return KeyForm{.factor = 1, .rest = builder_.integer(0)};
    case Op::iadd:
      return sum(operands[0], operands[1], 1);
    case Op::isub:
      return sum(operands[0], operands[1], -1);
    case Op::ifloor_div:
    case Op::itrunc_div:
      return divided(id);
    case Op::iabs: {
      auto inner = of(operands[0]);
      if (!inner || inner->is_absolute) return std::nullopt;
      inner->is_absolute = true;
      return inner;
    }
    default:
      return std::nullopt;
  }
}

std::optional<KeyForm> KeyForms::sum(NodeId a, NodeId b, int sign) {
  const auto left = of(a);
  const auto right = of(b);
  if (!left || !right || left->is_absolute || right->is_absolute) return std::nullopt;
  if (left->factor != 0 && right->factor != 0) return std::nullopt;
  KeyForm result = left->factor != 0 ? *left : *right;
  if (left->factor == 0) result.factor *= sign;
  result.rest =
      sign > 0 ? builder_.add(left->rest, right->rest) : builder_.sub(left->rest, right->rest);
  return result;
}

std::optional<KeyForm> KeyForms::divided(NodeId id) {
  const auto operands = program_.operands(id);
  const auto dividend = of(operands[0]);
  const auto divisor = row_value(operands[1]);
  if (!dividend || !divisor || !guard_is_met(id)) return std::nullopt;
  if (dividend->factor != 1 || dividend->is_divided() || dividend->is_absolute) return std::nullopt;
  positive.push_back(*divisor);
  // Truncation rounds down only what is not negative.
  if (program_.node(id).op == Op::itrunc_div) not_negative.push_back(operands[0]);
  return KeyForm{
      .factor = 1, .rest = builder_.integer(0), .divisor = *divisor, .shift = dividend->rest};
}

/// low <= A < high solved for kv; an absent bound is none.
KeyRange KeyForms::solve(const KeyForm& atom, std::optional<NodeId> low,
                         std::optional<NodeId> high) {
  const auto bound = [&](std::optional<NodeId> value, std::int64_t unbounded) {
    if (!value) return builder_.integer(unbounded);
    if (!atom.is_divided()) return *value;
    return builder_.sub(builder_.apply(Op::imul, {*value, atom.divisor}), atom.shift);
  };
  return {.begin = bound(low, -kUnboundedKey), .end = bound(high, kUnboundedKey)};
}

std::optional<std::vector<KeyRange>> KeyForms::where_less(const KeyForm& left, const KeyForm& right,
                                                          int gap) {
  if ((left.factor != 0) == (right.factor != 0)) return std::nullopt;
  const NodeId one = builder_.integer(1);
  if (left.is_absolute) {
    // |x| + gap <= t is x + gap <= t and -t + gap <= x.
    KeyForm inner = left;
    inner.is_absolute = false;
    const KeyForm negated{.factor = 0, .rest = builder_.sub(builder_.integer(0), right.rest)};
    const auto below = where_less(inner, right, gap);
    const auto above = where_less(negated, inner, gap);
    return std::vector<KeyRange>{
        {.begin = builder_.apply(Op::imax, {below->front().begin, above->front().begin}),
         .end = builder_.apply(Op::imin, {below->front().end, above->front().end})}};
  }
  if (right.is_absolute) {
    // t + gap <= |x| is t + gap <= x or x + gap <= -t.
    KeyForm inner = right;
    inner.is_absolute = false;
    const KeyForm negated{.factor = 0, .rest = builder_.sub(builder_.integer(0), left.rest)};
    return std::vector<KeyRange>{where_less(left, inner, gap)->front(),
                                 where_less(inner, negated, gap)->front()};
  }
  const KeyForm& atom = left.factor != 0 ? left : right;
  // left: A <= t - gap, t = right.rest - left.rest; right: A >= t' + gap, t' = left.rest -
  // right.rest.
  const bool on_left = left.factor != 0;
  const NodeId t =
      on_left ? builder_.sub(right.rest, left.rest) : builder_.sub(left.rest, right.rest);
  const bool upper = on_left == (atom.factor > 0);
  if (upper) {
    // A < t - gap + 1, where a negative factor has turned t around.
    const NodeId limit = atom.factor > 0 ? t : builder_.sub(builder_.integer(0), t);
    return std::vector<KeyRange>{
        solve(atom, std::nullopt, gap == 1 ? limit : builder_.add(limit, one))};
  }
  const NodeId limit = atom.factor > 0 ? t : builder_.sub(builder_.integer(0), t);
  return std::vector<KeyRange>{
      solve(atom, gap == 1 ? builder_.add(limit, one) : limit, std::nullopt)};
}

std::optional<KeyRange> KeyForms::where_equal(const KeyForm& left, const KeyForm& right) {
  if ((left.factor != 0) == (right.factor != 0) || left.is_absolute || right.is_absolute)
    return std::nullopt;
  const KeyForm& atom = left.factor != 0 ? left : right;
  const KeyForm& other = left.factor != 0 ? right : left;
  const NodeId value =
      atom.factor > 0 ? builder_.sub(other.rest, atom.rest) : builder_.sub(atom.rest, other.rest);
  return solve(atom, value, builder_.add(value, builder_.integer(1)));
}

}  // namespace tilewright::analyse
