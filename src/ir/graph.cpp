#include "ir/graph.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace tilewright::ir {

namespace {

[[noreturn]] void raise_no_overload(std::string_view fn, std::span<const Type> types) {
  std::string got;
  for (Type type : types) {
    if (!got.empty()) got += ", ";
    got += name(type);
  }
  throw Error({.code = ErrorCode::kTrace,
               .what = std::string(fn) + " does not accept these operands",
               .where = std::string(fn),
               .expected = is_function(fn)
                               ? "operands that promote (bool to int to float) to an overload"
                               : "a known function",
               .got = "(" + got + ")",
               .hint = "cast explicitly, or compare with 0 to get a truth value"});
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_of(const Node& node, std::span<const NodeId> operands) {
  const auto kind =
      static_cast<std::uint64_t>(node.op) << 8 | static_cast<std::uint64_t>(node.type);
  std::uint64_t hash = mixed(kind, node.payload);
  for (NodeId operand : operands) hash = mixed(hash, operand);
  return hash;
}

constexpr std::size_t kFirstTable = 64;

/// Operands of one node: indices of a load and its guard at most.
class Operands {
 public:
  void push_back(NodeId id) {
    TILEWRIGHT_CHECK(count_ < ids_.size());
    ids_[count_++] = id;
  }
  operator std::span<const NodeId>() const { return {ids_.data(), count_}; }

 private:
  std::array<NodeId, Dims::kMaxRank + 1> ids_;
  std::size_t count_ = 0;
};

Node leaf(Op op, Type type, std::uint64_t payload) {
  return {.op = op, .type = type, .operand_count = 0, .operand_begin = 0, .payload = payload};
}

constexpr double kMaxLiteralExponent = 8;

}  // namespace

NodeId Graph::input(Op op) {
  return intern(leaf(op, op == Op::kScore ? Type::kFloat : Type::kInt, 0), {});
}

NodeId Graph::literal(double value) {
  return intern(leaf(Op::kLiteral, Type::kFloat, std::bit_cast<std::uint64_t>(value)), {});
}

NodeId Graph::literal(std::int64_t value) {
  return intern(leaf(Op::kLiteral, Type::kInt, static_cast<std::uint64_t>(value)), {});
}

NodeId Graph::literal(bool value) {
  return intern(leaf(Op::kLiteral, Type::kBool, value ? 1 : 0), {});
}

NodeId Graph::number(NumberSlot slot, NumberValue value) {
  const auto index = static_cast<std::uint64_t>(numbers_.size());
  const Type type = slot.type;
  numbers_.push_back(std::move(slot));
  bindings_.numbers.push_back(value);
  return intern(leaf(Op::kNumber, type, index), {});
}

std::uint32_t Graph::capture(CaptureSlot slot, const TensorView& view) {
  captures_.push_back(std::move(slot));
  bindings_.captures.push_back(view);
  return static_cast<std::uint32_t>(captures_.size() - 1);
}

NodeId Graph::load(std::uint32_t capture, std::span<const NodeId> indices, NodeId guard) {
  TILEWRIGHT_CHECK(capture < captures_.size() && indices.size() == captures_[capture].rank);
  const DType dtype = captures_[capture].dtype;
  const Type type =
      is_floating(dtype) ? Type::kFloat : (dtype == DType::kBool ? Type::kBool : Type::kInt);
  Operands operands;
  for (NodeId index : indices) operands.push_back(promote(index, Type::kInt));
  operands.push_back(guard);
  return intern(leaf(Op::kLoad, type, capture), operands);
}

NodeId Graph::promote(NodeId id, Type type) {
  const Type from = nodes_[id].type;
  if (from == type) return id;
  if (from == Type::kBool && type != Type::kBool) {
    const NodeId as_int = apply(Op::bool_to_int, std::array{id});
    return type == Type::kInt ? as_int : promote(as_int, type);
  }
  if (from == Type::kInt && type == Type::kFloat) return apply(Op::int_to_float, std::array{id});
  throw Error(
      {.code = ErrorCode::kTrace,
       .what = "a value has the wrong type",
       .where = {},
       .expected = std::string(name(type)),
       .got = std::string(name(from)),
       .hint = type == Type::kBool ? "compare it (for example x != 0)" : "cast it explicitly"});
}

NodeId Graph::call(std::string_view fn, std::span<const NodeId> operands, NodeId guard) {
  std::array<Type, 4> kinds{};
  const std::size_t count = std::min(operands.size(), kinds.size());
  for (std::size_t i = 0; i < count; ++i) kinds[i] = nodes_[operands[i]].type;
  const std::span<const Type> types(kinds.data(), count);
  const std::optional<Op> op = count == operands.size() ? resolve(fn, types) : std::nullopt;
  if (!op) raise_no_overload(fn, types);
  const OpRow& op_row = row(*op);
  Operands promoted;
  for (std::size_t i = 0; i < operands.size(); ++i)
    promoted.push_back(promote(operands[i], type_of(op_row.signature[i])));
  if (op_row.has_guard()) promoted.push_back(guard);
  return apply(*op, promoted);
}

NodeId Graph::literal_exponent(NodeId exponent) {
  NodeId source = exponent;
  if (nodes_[source].op == Op::int_to_float) source = operands(source)[0];
  const Node& node = nodes_[source];
  if (node.op != Op::kNumber || !numbers_[node.payload].name.empty()) return exponent;
  const NumberValue& value = bindings_.numbers[node.payload];
  const double number = node.type == Type::kInt ? static_cast<double>(value.integer) : value.real;
  const bool small_integer =
      std::nearbyint(number) == number && std::fabs(number) <= kMaxLiteralExponent;
  return small_integer ? literal(number) : exponent;
}

NodeId Graph::apply(Op op, std::span<const NodeId> operands) {
  const OpRow& op_row = row(op);
  if (op_row.fn == "select") return simplify_select(op, operands);
  if (op == Op::band || op == Op::bor || op == Op::bnot) return simplify_bool(op, operands);
  if (op == Op::pow)
    return intern(leaf(op, op_row.result, 0),
                  std::array{operands[0], literal_exponent(operands[1])});
  return intern(leaf(op, op_row.result, 0), operands);
}

NodeId Graph::simplify_bool(Op op, std::span<const NodeId> operands) {
  const NodeId a = operands[0];
  if (op == Op::bnot) {
    if (is_literal(a, true)) return literal(false);
    if (is_literal(a, false)) return literal(true);
    if (nodes_[a].op == Op::bnot) return this->operands(a)[0];
    return intern(leaf(op, Type::kBool, 0), operands);
  }
  const NodeId b = operands[1];
  const bool neutral = op == Op::band;
  if (is_literal(a, neutral) || a == b) return b;
  if (is_literal(b, neutral)) return a;
  if (is_literal(a, !neutral) || is_literal(b, !neutral)) return literal(!neutral);
  return intern(leaf(op, Type::kBool, 0), operands);
}

NodeId Graph::simplify_select(Op op, std::span<const NodeId> operands) {
  const NodeId condition = operands[0];
  const NodeId yes = operands[1];
  const NodeId no = operands[2];
  if (is_literal(condition, true) || yes == no) return yes;
  if (is_literal(condition, false)) return no;
  if (op != Op::bselect) return intern(leaf(op, nodes_[yes].type, 0), operands);
  if (is_literal(yes, true)) return apply(Op::bor, std::array{condition, no});
  if (is_literal(no, false)) return apply(Op::band, std::array{condition, yes});
  if (is_literal(yes, false))
    return apply(Op::band, std::array{apply(Op::bnot, std::array{condition}), no});
  if (is_literal(no, true))
    return apply(Op::bor, std::array{apply(Op::bnot, std::array{condition}), yes});
  return intern(leaf(op, Type::kBool, 0), operands);
}

bool Graph::is_literal(NodeId id, bool value) const {
  const Node& node = nodes_[id];
  return node.op == Op::kLiteral && node.type == Type::kBool && node.payload == (value ? 1U : 0U);
}

std::size_t Graph::place_of(const Node& node, std::span<const NodeId> operands) const {
  const std::size_t mask = interned_.size() - 1;
  for (std::size_t place = hash_of(node, operands) & mask;; place = (place + 1) & mask) {
    const NodeId known = interned_[place];
    if (known == kNoNode) return place;
    const Node& other = nodes_[known];
    const bool same = other.op == node.op && other.type == node.type &&
                      other.payload == node.payload &&
                      std::ranges::equal(this->operands(known), operands);
    if (same) return place;
  }
}

void Graph::grow_table() {
  interned_.assign(interned_.empty() ? kFirstTable : 2 * interned_.size(), kNoNode);
  for (NodeId id = 0; id < nodes_.size(); ++id) interned_[place_of(nodes_[id], operands(id))] = id;
}

NodeId Graph::intern(Node node, std::span<const NodeId> operands) {
  if (2 * nodes_.size() >= interned_.size()) grow_table();
  NodeId& known = interned_[place_of(node, operands)];
  if (known != kNoNode) return known;
  node.operand_begin = static_cast<std::uint32_t>(operands_.size());
  node.operand_count = static_cast<std::uint16_t>(operands.size());
  // The operands may lie in this very vector, as those of a node that is there already.
  const bool inside = !operands.empty() && operands.data() >= operands_.data() &&
                      operands.data() < operands_.data() + operands_.size();
  if (inside) {
    const std::vector<NodeId> copy(operands.begin(), operands.end());
    operands_.insert(operands_.end(), copy.begin(), copy.end());
  } else {
    operands_.insert(operands_.end(), operands.begin(), operands.end());
  }
  nodes_.push_back(node);
  return known = static_cast<NodeId>(nodes_.size() - 1);
}

}  // namespace tilewright::ir
