#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ir/infix_operators.h"
#include "ir/number_text.h"
#include "ir/op.h"
#include "ir/print_names.h"
#include "ir/structural.h"
#include "ir/text.h"
#include "ir/written_operands.h"

namespace tilewright::ir {

namespace {

/// An expression longer or deeper than this gets a name of its own: lines stay readable, and the
/// depth that parse() sees does not grow with the program.
constexpr std::size_t kMaxInlineBytes = 100;
constexpr std::size_t kMaxInlineDepth = 10;

constexpr double kMaxPlainExponent = 8;

struct Expression {
  std::string text;
  Precedence precedence = kAtom;
  std::size_t depth = 0;
};

bool is_float_literal(const Node& node) {
  return node.op == Op::kLiteral && node.type == Type::kFloat;
}

class Printer {
 public:
  Printer(const Program& program, const Bindings& bindings)
      : program_(program),
        bindings_(bindings),
        names_(program),
        uses_(program.size()),
        expressions_(program.size()) {}

  std::string print() {
    out_ = "tilewright " + std::to_string(kTextVersion) + "\n" + declarations();
    count_uses();
    for (NodeId id = 0; id < program_.size(); ++id)
      if (uses_[id] > 0) write(id);
    const Roots& roots = program_.roots();
    if (roots.mask) out_ += "mask = " + expressions_[*roots.mask].text + "\n";
    if (roots.score) out_ += "score = " + expressions_[written_score()].text + "\n";
    return std::move(out_);
  }

 private:
  std::string declarations() const {
    std::string lines;
    for (std::size_t i = 0; i < program_.captures().size(); ++i) {
      const CaptureSlot& slot = program_.captures()[i];
      lines += "capture " + names_.capture(i) + ": " + std::string(name(slot.dtype)) + "[" +
               std::to_string(slot.rank) + "]" + names_.capture_suffix(i) + "\n";
    }
    for (std::size_t i = 0; i < program_.numbers().size(); ++i) {
      const NumberSlot& slot = program_.numbers()[i];
      if (slot.name.empty()) continue;
      lines += "number " + names_.number(i) + ": " + std::string(name(slot.type)) + " = " +
               number_text(slot.type, bindings_.numbers[i]) + names_.number_suffix(i) + "\n";
    }
    return lines;
  }

  /// A score of integers needs no conversion in text; one of truth values does.
  NodeId written_score() const {
    const NodeId root = *program_.roots().score;
    const NodeId bare = without_promotions(program_, root);
    return program_.node(bare).type == Type::kBool ? root : bare;
  }

  void count_uses() {
    const Roots& roots = program_.roots();
    if (roots.mask) ++uses_[*roots.mask];
    if (roots.score) ++uses_[written_score()];
    for (NodeId id = static_cast<NodeId>(program_.size()); id-- > 0;) {
      if (uses_[id] == 0) continue;
      for (const NodeId operand : written_operands(program_, id)) ++uses_[operand];
    }
  }

  void write(NodeId id) {
    Expression expression = expression_of(id);
    if (must_be_named(id, expression)) {
      const std::string name = names_.fresh();
      out_ += name + " = " + expression.text + "\n";
      expression = {.text = name};
    }
    expressions_[id] = std::move(expression);
  }

  bool must_be_named(NodeId id, const Expression& expression) const {
    const Node& node = program_.node(id);
    if (node.op == Op::kNumber)
      return uses_[id] > 1 && program_.numbers()[node.payload].name.empty();
    if (node.op != Op::kLoad && is_leaf(node.op)) return false;
    return uses_[id] > 1 || expression.depth > kMaxInlineDepth ||
           expression.text.size() > kMaxInlineBytes;
  }

  Expression expression_of(NodeId id) const {
    const Node& node = program_.node(id);
    switch (node.op) {
      case Op::kScore:
        return {.text = "score"};
      case Op::kBatch:
        return {.text = "b"};
      case Op::kHead:
        return {.text = "h"};
      case Op::kQuery:
        return {.text = "q"};
      case Op::kKey:
        return {.text = "kv"};
      case Op::kLiteral:
        return signed_number(literal_text(node));
      case Op::kNumber:
        return signed_number(slot_text(node));
      case Op::kLoad:
        return load(id);
      default:
        return operation(id);
    }
  }

  static Expression signed_number(std::string text) {
    const Precedence precedence = text.starts_with('-') ? kSign : kAtom;
    return {.text = std::move(text), .precedence = precedence};
  }

  static std::string number_text(Type type, const NumberValue& value) {
    if (type == Type::kInt) return std::to_string(value.integer);
    if (!std::isnan(value.real)) return real_text(value.real);
    return "float_bits(" + bits_text(value.real) + ")";
  }

  static std::string literal_text(const Node& node) {
    if (node.type == Type::kBool) return node.payload != 0 ? "True" : "False";
    NumberValue value;
    if (node.type == Type::kInt)
      value.integer = static_cast<std::int64_t>(node.payload);
    else
      value.real = std::bit_cast<double>(node.payload);
    const std::string text = number_text(node.type, value);
    const bool plain =
        node.type == Type::kInt ? is_structural(value.integer) : is_structural(value.real);
    return plain ? text : "fixed(" + text + ")";
  }

  std::string slot_text(const Node& node) const {
    const NumberSlot& slot = program_.numbers()[node.payload];
    if (!slot.name.empty()) return names_.number(node.payload);
    const NumberValue& value = bindings_.numbers[node.payload];
    const std::string text = number_text(slot.type, value);
    const bool plain =
        slot.type == Type::kInt ? !is_structural(value.integer) : !is_structural(value.real);
    return plain ? text : "slot(" + text + ")";
  }

  Expression load(NodeId id) const {
    const Node& node = program_.node(id);
    const std::vector<NodeId> written = written_operands(program_, id);
    std::string list;
    std::size_t depth = 0;
    for (std::size_t i = 0; i + 1 < written.size(); ++i) append(list, written[i], depth);
    append_guard(list, written.back(), depth);
    const std::string name = names_.capture(node.payload);
    if (list.empty()) return {.text = name, .precedence = kAtom, .depth = depth};
    return {.text = name + "[" + list + "]", .precedence = kAtom, .depth = depth + 1};
  }

  void append(std::string& list, NodeId operand, std::size_t& depth) const {
    if (!list.empty()) list += ", ";
    list += expressions_[operand].text;
    depth = std::max(depth, expressions_[operand].depth);
  }

  void append_guard(std::string& list, NodeId guard, std::size_t& depth) const {
    if (is_true(guard)) return;
    if (!list.empty()) list += ", ";
    list += "when=" + expressions_[guard].text;
    depth = std::max(depth, expressions_[guard].depth);
  }

  bool is_true(NodeId id) const {
    const Node& node = program_.node(id);
    return node.op == Op::kLiteral && node.type == Type::kBool && node.payload == 1;
  }

  Expression operation(NodeId id) const {
    const OpRow& op_row = row(program_.node(id).op);
    const std::vector<NodeId> written = written_operands(program_, id);
    const bool guarded = op_row.has_guard() && !is_true(written.back());
    if (op_row.fn == "neg") return sign("-", written[0]);
    if (op_row.fn == "bit_not") return sign("~", written[0]);
    if (op_row.fn == "pow") return power(written);
    const InfixOperator* symbol = guarded ? nullptr : infix_operator(op_row.fn);
    if (symbol != nullptr) return binary(*symbol, written);

    std::string list;
    std::size_t depth = 0;
    for (std::size_t i = 0; i < op_row.written_operands(); ++i) append(list, written[i], depth);
    if (guarded) append_guard(list, written.back(), depth);
    return {
        .text = std::string(op_row.fn) + "(" + list + ")", .precedence = kAtom, .depth = depth + 1};
  }

  std::string operand_text(NodeId id, int at_least) const {
    const Expression& expression = expressions_[id];
    if (expression.precedence >= at_least) return expression.text;
    return "(" + expression.text + ")";
  }

  Expression binary(const InfixOperator& symbol, const std::vector<NodeId>& written) const {
    const bool compares = symbol.precedence == kComparing;
    // Comparisons chain in Python: neither operand of one may be a bare comparison.
    const std::string left = operand_text(written[0], symbol.precedence + (compares ? 1 : 0));
    const std::string right = operand_text(written[1], symbol.precedence + 1);
    return {.text = left + " " + std::string(symbol.symbol) + " " + right,
            .precedence = symbol.precedence,
            .depth = deepest(written) + 1};
  }

  Expression sign(std::string_view symbol, NodeId operand) const {
    const Node& node = program_.node(operand);
    const bool number = (node.op == Op::kLiteral || node.op == Op::kNumber) && symbol == "-";
    // -(2) negates a number; -2 is another number.
    const std::string text = operand_text(operand, number ? kAtom + 1 : kSign);
    return {.text = std::string(symbol) + text,
            .precedence = kSign,
            .depth = expressions_[operand].depth + 1};
  }

  Expression power(const std::vector<NodeId>& written) const {
    const Node& exponent = program_.node(written[1]);
    std::string text = operand_text(written[1], kSign);
    if (is_float_literal(exponent)) {
      const double value = std::bit_cast<double>(exponent.payload);
      const bool small = std::nearbyint(value) == value && std::fabs(value) <= kMaxPlainExponent;
      if (small && std::fabs(value) > 1) text = std::to_string(static_cast<int>(value));
    }
    return {.text = operand_text(written[0], kAtom) + " ** " + text,
            .precedence = kRaise,
            .depth = deepest(written) + 1};
  }

  std::size_t deepest(const std::vector<NodeId>& written) const {
    std::size_t depth = 0;
    for (const NodeId operand : written) depth = std::max(depth, expressions_[operand].depth);
    return depth;
  }

  const Program& program_;
  const Bindings& bindings_;
  PrintNames names_;
  std::vector<std::uint32_t> uses_;
  std::vector<Expression> expressions_;
  std::string out_;
};

}  // namespace

std::string print(const Program& program, const Bindings& bindings) {
  return Printer(program, bindings).print();
}

}  // namespace tilewright::ir
