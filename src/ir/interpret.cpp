#include "ir/interpret.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <type_traits>

#include "base/element.h"
#include "ir/scalar_ops.h"

namespace tilewright::ir {

namespace {

/// One operand in the type that its letter of the signature names.
template <class F, char kLetter>
auto operand(const NodeValue& value) {
  if constexpr (kLetter == 'f')
    return static_cast<F>(value.real);
  else if constexpr (kLetter == 'i')
    return value.integer;
  else
    return value.truth;
}

NodeValue result(bool value) { return {.real = 0, .integer = 0, .truth = value}; }
NodeValue result_real(double value) { return {.real = value, .integer = 0, .truth = false}; }
NodeValue result_integer(std::int64_t value) {
  return {.real = 0, .integer = value, .truth = false};
}

constexpr char letter(const char* signature, std::size_t i, std::size_t size) {
  return i < size ? signature[i] : 'b';
}

NodeValue literal_value(const Node& node) {
  switch (node.type) {
    case Type::kFloat:
      return result_real(std::bit_cast<double>(node.payload));
    case Type::kInt:
      return result_integer(static_cast<std::int64_t>(node.payload));
    case Type::kBool:
      return result(node.payload != 0);
  }
  return result(false);
}

NodeValue number_value(const Node& node, const NumberValue& number) {
  return node.type == Type::kFloat ? result_real(number.real) : result_integer(number.integer);
}

constexpr std::uint8_t kReadsScore = 1;
constexpr std::uint8_t kReadsBatch = 2;
constexpr std::uint8_t kReadsHead = 4;
constexpr std::uint8_t kReadsQuery = 8;
constexpr std::uint8_t kReadsKey = 16;

std::uint8_t leaf_read(Op op) {
  switch (op) {
    case Op::kScore:
      return kReadsScore;
    case Op::kBatch:
      return kReadsBatch;
    case Op::kHead:
      return kReadsHead;
    case Op::kQuery:
      return kReadsQuery;
    case Op::kKey:
      return kReadsKey;
    default:
      return 0;
  }
}

template <class F>
NodeValue to_precision(NodeValue value) {
  value.real = static_cast<double>(static_cast<F>(value.real));
  return value;
}

}  // namespace

namespace scalar {

template <class F>
F int_to_float(Int a) {
  return static_cast<F>(a);
}

/// Evaluates one row. The expressions of ops.def see a, b, c and the functions of this namespace.
template <class F>
NodeValue evaluate_expression(Op op, const NodeValue& x, const NodeValue& y, const NodeValue& z) {
  const auto int_to_float = [](Int value) { return scalar::int_to_float<F>(value); };
  (void)int_to_float;
#define TILEWRIGHT_RESULT_f(value) result_real(static_cast<double>(static_cast<F>(value)))
#define TILEWRIGHT_RESULT_i(value) result_integer(value)
#define TILEWRIGHT_RESULT_b(value) result(value)
#define TILEWRIGHT_OP(id, fn, kind, signature, expression, interval, derivative, edge)          \
  case Op::id: {                                                                                \
    [[maybe_unused]] const auto a = operand<F, letter(signature, 0, sizeof(signature) - 1)>(x); \
    [[maybe_unused]] const auto b = operand<F, letter(signature, 1, sizeof(signature) - 1)>(y); \
    [[maybe_unused]] const auto c = operand<F, letter(signature, 2, sizeof(signature) - 1)>(z); \
    return TILEWRIGHT_RESULT_##kind(expression);                                                \
  }
  switch (op) {
#include "ir/ops.def"
    default:
      return {};
  }
#undef TILEWRIGHT_OP
#undef TILEWRIGHT_RESULT_f
#undef TILEWRIGHT_RESULT_i
#undef TILEWRIGHT_RESULT_b
}

}  // namespace scalar

Interpreter::Interpreter(const Program& program, const Bindings& bindings)
    : program_(program), bindings_(bindings) {
  if (program.roots().mask) mask_ = pass_of({*program.roots().mask});
  if (program.roots().score) score_ = pass_of({*program.roots().score});
  derivative_ = pass_of(program.roots().derivatives);
}

Interpreter::Pass Interpreter::pass_of(const std::vector<NodeId>& roots) const {
  Pass pass;
  pass.values.resize(program_.size());
  std::vector<bool> wanted(program_.size());
  for (const NodeId root : roots) {
    const std::vector<bool> reachable = program_.reachable_from(root);
    std::transform(wanted.begin(), wanted.end(), reachable.begin(), wanted.begin(),
                   std::logical_or<>());
  }
  std::vector<std::uint8_t> reads(program_.size());
  for (NodeId id = 0; id < program_.size(); ++id) {
    if (!wanted[id]) continue;
    reads[id] = leaf_read(program_.node(id).op);
    for (const NodeId operand : program_.operands(id)) reads[id] |= reads[operand];
    pass.nodes.push_back(id);
    pass.reads.push_back(reads[id]);
  }
  return pass;
}

bool Interpreter::mask(const Position& position) {
  if (!program_.roots().mask) return true;
  if (program_.mask_is_f64())
    evaluate<double>(mask_, 0, position);
  else
    evaluate<float>(mask_, 0, position);
  return mask_.values[*program_.roots().mask].truth;
}

double Interpreter::score(double score, const Position& position) {
  if (!program_.roots().score) return score;
  evaluate<double>(score_, score, position);
  return score_.values[*program_.roots().score].real;
}

float Interpreter::score_f32(float score, const Position& position) {
  if (!program_.roots().score) return score;
  evaluate<float>(score_, static_cast<double>(score), position);
  return static_cast<float>(score_.values[*program_.roots().score].real);
}

const std::vector<double>& Interpreter::derivatives(double score, const Position& position) {
  return derivatives_in<double>(score, position);
}

const std::vector<double>& Interpreter::derivatives_f32(float score, const Position& position) {
  return derivatives_in<float>(static_cast<double>(score), position);
}

template <class F>
const std::vector<double>& Interpreter::derivatives_in(double score, const Position& position) {
  derivatives_.clear();
  evaluate<F>(derivative_, score, position);
  for (const NodeId root : program_.roots().derivatives)
    derivatives_.push_back(derivative_.values[root].real);
  return derivatives_;
}

std::optional<Dims> Interpreter::subscripts(NodeId load) const {
  const auto operands = program_.operands(load);
  if (!derivative_.values[operands.back()].truth) return std::nullopt;
  const TensorView& view = bindings_.captures[program_.node(load).payload];
  Dims indices;
  for (std::size_t axis = 0; axis < view.rank(); ++axis)
    indices.push_back(wrap_index(derivative_.values[operands[axis]].integer, view.shape[axis]));
  return indices;
}

std::vector<NodeValue> Interpreter::values(double score, const Position& position) {
  std::vector<NodeValue> all(program_.size());
  if (mask(position)) {
    this->score(score, position);
    for (const NodeId id : score_.nodes) all[id] = score_.values[id];
  }
  for (const NodeId id : mask_.nodes) all[id] = mask_.values[id];
  return all;
}

template <class F>
void Interpreter::evaluate(Pass& pass, double score, const Position& position) const {
  constexpr bool kIsF64 = std::is_same_v<F, double>;
  const bool starts_over = !pass.is_known || pass.is_f64 != kIsF64;
  const std::uint8_t changed = kReadsScore | (pass.at.b != position.b ? kReadsBatch : 0) |
                               (pass.at.h != position.h ? kReadsHead : 0) |
                               (pass.at.q != position.q ? kReadsQuery : 0) |
                               (pass.at.kv != position.kv ? kReadsKey : 0);
  pass.is_known = false;  // a fault below leaves it so
  pass.is_f64 = kIsF64;
  pass.at = position;
  pass.score = score;
  for (std::size_t i = 0; i < pass.nodes.size(); ++i)
    if (starts_over || (pass.reads[i] & changed) != 0)
      pass.values[pass.nodes[i]] = evaluate_node<F>(pass, pass.nodes[i]);
  pass.is_known = true;
}

template <class F>
NodeValue Interpreter::evaluate_node(const Pass& pass, NodeId id) const {
  const Node& node = program_.node(id);
  switch (node.op) {
    case Op::kScore:
      return result_real(pass.score);
    case Op::kBatch:
      return result_integer(pass.at.b);
    case Op::kHead:
      return result_integer(pass.at.h);
    case Op::kQuery:
      return result_integer(pass.at.q);
    case Op::kKey:
      return result_integer(pass.at.kv);
    case Op::kLiteral:
      return to_precision<F>(literal_value(node));
    case Op::kNumber:
      return to_precision<F>(number_value(node, bindings_.numbers[node.payload]));
    case Op::kLoad:
      return to_precision<F>(load(pass, id));
    default:
      return evaluate_row<F>(pass, id);
  }
}

template <class F>
NodeValue Interpreter::evaluate_row(const Pass& pass, NodeId id) const {
  const auto operands = program_.operands(id);
  const Op op = program_.node(id).op;
  if (row(op).has_guard()) require_divisor(pass, id);
  const NodeValue none;
  return scalar::evaluate_expression<F>(op, pass.values[operands[0]],
                                        operands.size() > 1 ? pass.values[operands[1]] : none,
                                        operands.size() > 2 ? pass.values[operands[2]] : none);
}

void Interpreter::require_divisor(const Pass& pass, NodeId id) const {
  const auto operands = program_.operands(id);
  if (pass.values[operands[1]].integer != 0 || !pass.values[operands[2]].truth) return;
  raise_division_by_zero(row(program_.node(id).op).fn);
}

NodeValue Interpreter::load(const Pass& pass, NodeId id) const {
  const Node& node = program_.node(id);
  if (!pass.values[program_.operands(id).back()].truth) return {};
  const TensorView& view = bindings_.captures[node.payload];
  const std::int64_t offset = element_offset(pass, id);
  if (view.data == nullptr) raise_unbound_capture(program_.captures()[node.payload]);
  if (node.type == Type::kFloat) return result_real(read_real(view, offset));
  const std::int64_t value = read_integer(view, offset);
  return node.type == Type::kBool ? result(value != 0) : result_integer(value);
}

std::int64_t Interpreter::element_offset(const Pass& pass, NodeId id) const {
  const Node& node = program_.node(id);
  const TensorView& view = bindings_.captures[node.payload];
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < view.rank(); ++axis) {
    const std::int64_t written = pass.values[program_.operands(id)[axis]].integer;
    const std::int64_t index = wrap_index(written, view.shape[axis]);
    if (index < 0 || index >= view.shape[axis])
      raise_index_out_of_range(program_.captures()[node.payload], static_cast<std::int64_t>(axis),
                               written, view.shape[axis]);
    if (view.shape[axis] != 1) offset += index * view.strides[axis];
  }
  return offset;
}

}  // namespace tilewright::ir
