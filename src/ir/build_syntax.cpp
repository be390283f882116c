#include "ir/build_syntax.h"

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ir/constant.h"
#include "ir/op.h"
#include "ir/parse_error.h"
#include "ir/structural.h"
#include "ir/text.h"
#include "tilewright/error.h"

namespace tilewright::ir {

namespace {

/// Operators and the functions of ops.def that they are.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kFunctionOf{
    {{"+", "add"},
     {"-", "sub"},
     {"*", "mul"},
     {"/", "true_div"},
     {"//", "floor_div"},
     {"%", "floor_mod"},
     {"|", "bit_or"},
     {"^", "bit_xor"},
     {"&", "bit_and"},
     {"<<", "shl"},
     {">>", "shr"},
     {"==", "eq"},
     {"!=", "ne"}}};

std::string_view function_of(std::string_view symbol) {
  for (const auto& [written, fn] : kFunctionOf)
    if (written == symbol) return fn;
  return symbol.size() == 2 ? "le" : "lt";
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

class Builder {
 public:
  Builder(Graph& graph, Scope& scope, std::string_view source)
      : graph_(graph), scope_(scope), source_(source) {}

  NodeId build(const Syntax& syntax, NodeId guard) {
    switch (syntax.kind) {
      case SyntaxKind::kName:
        return name(syntax, guard);
      case SyntaxKind::kNumber:
        return number(constant_of(syntax, source_));
      case SyntaxKind::kCall:
        return call(syntax, guard);
      case SyntaxKind::kSubscript:
        return subscript(syntax, guard);
      case SyntaxKind::kUnary:
        return unary(syntax, guard);
      case SyntaxKind::kChain:
        return chain(syntax, guard);
      case SyntaxKind::kPower:
        return apply(syntax, "pow",
                     {build(syntax.children[0], guard), build(syntax.children[1], guard)}, guard);
      case SyntaxKind::kComparison:
        return comparison(syntax, guard);
      case SyntaxKind::kAnd:
      case SyntaxKind::kOr:
        return joined(syntax, guard);
      case SyntaxKind::kChoice:
        return choice(syntax, guard);
    }
    return kNoNode;
  }

 private:
  [[noreturn]] void raise(const Syntax& at, ParseFault fault) {
    raise_parse_error(source_, at.begin, fault);
  }

  /// Graph functions know operands, not places: their errors get the place here.
  template <class F>
  NodeId at(const Syntax& syntax, F&& make) {
    if (graph_.size() > kMaxTextOperations)
      raise(syntax, {.what = "the program has too many operations",
                     .expected = "at most " + std::to_string(kMaxNodes)});
    try {
      return make();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInternal) throw;
      const std::string got = error.parts().got;
      raise(syntax, {.what = error.parts().what + (got.empty() ? "" : ": " + got),
                     .expected = error.parts().expected,
                     .hint = error.parts().hint});
    }
  }

  NodeId apply(const Syntax& syntax, std::string_view fn, const std::vector<NodeId>& operands,
               NodeId guard) {
    return at(syntax, [&] { return graph_.call(fn, operands, guard); });
  }

  NodeId negated(NodeId truth) { return graph_.apply(Op::bnot, std::array{truth}); }
  NodeId both(NodeId a, NodeId b) { return graph_.apply(Op::band, std::array{a, b}); }

  NodeId number(const Constant& constant) {
    const bool structural = constant.type == Type::kInt ? is_structural(constant.value.integer)
                                                        : is_structural(constant.value.real);
    return structural || scope_.numbers_are_structure ? fixed(constant) : slot(constant);
  }

  NodeId fixed(const Constant& constant) {
    return constant.type == Type::kInt ? graph_.literal(constant.value.integer)
                                       : graph_.literal(constant.value.real);
  }

  NodeId slot(const Constant& constant) {
    return graph_.number({.name = {}, .type = constant.type}, constant.value);
  }

  NodeId name(const Syntax& syntax, NodeId guard) {
    if (syntax.text == "true" || syntax.text == "True") return graph_.literal(true);
    if (syntax.text == "false" || syntax.text == "False") return graph_.literal(false);
    if (syntax.text == "nan") return graph_.literal(std::numeric_limits<double>::quiet_NaN());
    const Named named = lookup(syntax, "number " + std::string(syntax.text) + ": int = 0");
    if (named.kind == Named::Kind::kValue) return named.index;
    return load(syntax, named.index, {}, guard);
  }

  Named lookup(const Syntax& syntax, const std::string& declaration) {
    const auto known = scope_.names.find(syntax.text);
    if (known != scope_.names.end()) return known->second;
    const auto declared = scope_.declare ? scope_.declare(syntax.text) : std::nullopt;
    if (declared) return scope_.names.emplace(syntax.text, *declared).first->second;
    const std::string hint = "declare it on a line before: `" + declaration + "`";
    raise(syntax, {.what = "unknown name " + quoted(syntax.text),
                   .expected = "b, h, q, kv, score, or a declared or assigned name",
                   .hint = is_function(syntax.text) ? "a function needs its operands in brackets"
                                                    : std::string_view(hint)});
  }

  NodeId load(const Syntax& syntax, std::uint32_t capture, const std::vector<NodeId>& indices,
              NodeId guard) {
    const CaptureSlot& slot = graph_.captures()[capture];
    if (indices.size() != slot.rank)
      raise(syntax,
            {.what = "captured tensor " + quoted(slot.name) + " has " + std::to_string(slot.rank) +
                     " axes and " + std::to_string(indices.size()) + " subscripts",
             .expected = std::to_string(slot.rank) + " subscripts"});
    return at(syntax, [&] { return graph_.load(capture, indices, guard); });
  }

  /// The written operands, and the guard that `when=` adds to the path's own.
  NodeId operands(const Syntax& syntax, std::size_t first, NodeId guard,
                  std::vector<NodeId>& built) {
    const std::size_t end = syntax.children.size() - (syntax.has_guard ? 1 : 0);
    for (std::size_t i = first; i < end; ++i) built.push_back(build(syntax.children[i], guard));
    if (!syntax.has_guard) return guard;
    return both(guard, truth(syntax.children.back(), guard));
  }

  NodeId subscript(const Syntax& syntax, NodeId guard) {
    const Syntax& base = syntax.children[0];
    if (base.kind != SyntaxKind::kName)
      raise(base, {.what = "only captured tensors have subscripts",
                   .expected = "the name of a captured tensor"});
    std::string axes = std::to_string(syntax.children.size() - 1 - (syntax.has_guard ? 1 : 0));
    const Named named = lookup(base, "capture " + std::string(base.text) + ": i32[" + axes + "]");
    if (named.kind != Named::Kind::kCapture)
      raise(base, {.what = "only captured tensors have subscripts",
                   .expected = "the name of a captured tensor"});
    std::vector<NodeId> indices;
    const NodeId reached = operands(syntax, 1, guard, indices);
    return load(base, named.index, indices, reached);
  }

  NodeId call(const Syntax& syntax, NodeId guard) {
    if (syntax.text == "fixed" || syntax.text == "slot" || syntax.text == "float_bits")
      return special(syntax);
    std::vector<NodeId> built;
    const NodeId reached = operands(syntax, 0, guard, built);
    if (syntax.text == "bool" && built.size() == 1) return truth_of(syntax, built[0], guard);
    if (syntax.text == "float" && built.size() == 1)
      return at(syntax, [&] { return graph_.promote(built[0], Type::kFloat); });
    if (syntax.text == "int" && built.size() == 1 && graph_.type(built[0]) == Type::kInt)
      return built[0];
    std::string_view fn = syntax.text;
    if (fn == "int") fn = "to_int";
    if (fn == "where") fn = "select";
    if (!is_function(fn))
      raise(syntax, {.what = "unknown function " + quoted(syntax.text),
                     .expected = "a function of the table in docs/text_form.md"});
    const bool variadic = (fn == "min" || fn == "max") && built.size() > 2;
    if (!variadic) return apply(syntax, fn, built, reached);
    NodeId folded = built[0];
    for (std::size_t i = 1; i < built.size(); ++i)
      folded = apply(syntax, fn, {folded, built[i]}, reached);
    return folded;
  }

  NodeId special(const Syntax& syntax) {
    if (syntax.text == "float_bits") return number(constant_of(syntax, source_));
    if (syntax.children.size() != 1)
      raise(syntax, {.what = std::string(syntax.text) + " takes one number",
                     .expected = std::string(syntax.text) + "(3)"});
    const Constant constant = constant_of(syntax.children[0], source_);
    return syntax.text == "fixed" ? fixed(constant) : slot(constant);
  }

  NodeId unary(const Syntax& syntax, NodeId guard) {
    const Syntax& operand = syntax.children[0];
    if (syntax.text == "not") return negated(truth(operand, guard));
    const NodeId value = build(operand, guard);
    if (syntax.text == "+") return value;
    return apply(syntax, syntax.text == "-" ? "neg" : "bit_not", {value}, guard);
  }

  NodeId chain(const Syntax& syntax, NodeId guard) {
    NodeId result = build(syntax.children[0], guard);
    for (std::size_t i = 0; i < syntax.operators.size(); ++i) {
      const NodeId right = build(syntax.children[i + 1], guard);
      result =
          apply(syntax.children[i + 1], function_of(syntax.operators[i]), {result, right}, guard);
    }
    return result;
  }

  NodeId compared(const Syntax& at, std::string_view symbol, NodeId left, NodeId right) {
    if (symbol.starts_with(">")) std::swap(left, right);
    return apply(at, function_of(symbol), {left, right}, graph_.literal(true));
  }

  NodeId comparison(const Syntax& syntax, NodeId guard) {
    NodeId left = build(syntax.children[0], guard);
    NodeId result = graph_.literal(true);
    NodeId reached = guard;
    for (std::size_t i = 0; i < syntax.operators.size(); ++i) {
      const NodeId right = build(syntax.children[i + 1], reached);
      const NodeId holds = compared(syntax.children[i + 1], syntax.operators[i], left, right);
      result = both(result, holds);
      reached = both(reached, holds);
      left = right;
    }
    return result;
  }

  NodeId joined(const Syntax& syntax, NodeId guard) {
    const bool all = syntax.kind == SyntaxKind::kAnd;
    NodeId result = graph_.literal(all);
    NodeId reached = guard;
    for (const Syntax& child : syntax.children) {
      const NodeId value = truth(child, reached);
      result = graph_.apply(all ? Op::band : Op::bor, std::array{result, value});
      reached = both(reached, all ? value : negated(value));
    }
    return result;
  }

  NodeId choice(const Syntax& syntax, NodeId guard) {
    const NodeId condition = truth(syntax.children[0], guard);
    const NodeId yes = build(syntax.children[1], both(guard, condition));
    const NodeId no = build(syntax.children[2], both(guard, negated(condition)));
    return apply(syntax, "select", {condition, yes, no}, guard);
  }

  /// Python's truth of a number: it is not 0.
  NodeId truth(const Syntax& syntax, NodeId guard) {
    return truth_of(syntax, build(syntax, guard), guard);
  }

  NodeId truth_of(const Syntax& syntax, NodeId value, NodeId guard) {
    if (graph_.type(value) == Type::kBool) return value;
    return apply(syntax, "ne", {value, graph_.literal(std::int64_t{0})}, guard);
  }

  Graph& graph_;
  Scope& scope_;
  std::string_view source_;
};

}  // namespace

NodeId build_syntax(const Syntax& syntax, Graph& graph, Scope& scope, std::string_view source) {
  return Builder(graph, scope, source).build(syntax, graph.literal(true));
}

}  // namespace tilewright::ir
