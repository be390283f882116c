#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "ir/build_syntax.h"
#include "ir/declaration.h"
#include "ir/lexer.h"
#include "ir/number_text.h"
#include "ir/parse_error.h"
#include "ir/scope.h"
#include "ir/syntax.h"
#include "ir/text.h"
#include "tilewright/error.h"

namespace tilewright::ir {

namespace {

TensorView unbound(const CaptureSlot& slot) {
  TensorView view;
  view.dtype = slot.dtype;
  for (std::uint32_t axis = 0; axis < slot.rank; ++axis) view.shape.push_back(0);
  view.strides = view.shape;
  return view;
}

template <class Slots>
auto slot_named(const Slots& slots, std::string_view name) {
  return std::ranges::find_if(slots,
                              [name](const auto& entry) { return entry.first.name == name; });
}

/// Reads statements into one graph.
class ProgramReader {
 public:
  ProgramReader(std::string_view text, const Declarations& declared)
      : lexer_(text), declared_(declared) {
    constexpr std::array<std::pair<std::string_view, Op>, 5> kInputs{{{"b", Op::kBatch},
                                                                      {"h", Op::kHead},
                                                                      {"q", Op::kQuery},
                                                                      {"kv", Op::kKey},
                                                                      {"score", Op::kScore}}};
    for (const auto& [name, op] : kInputs) set(name, graph_.input(op));
    scope_.declare = [this](std::string_view name) { return declare_outside(name); };
  }

  std::pair<Program, Bindings> read() {
    header();
    while (lexer_.current().kind != TokenKind::kEnd) {
      if (lexer_.current().kind != TokenKind::kNewline) statement();
      if (lexer_.current().kind == TokenKind::kEnd) break;
      if (lexer_.current().kind != TokenKind::kNewline)
        raise(lexer_.current().begin, {.what = "the statement goes on wrongly",
                                       .expected = "an operator, or the end of the line"});
      lexer_.take();
    }
    return finish();
  }

 private:
  /// Limits of programs, whoever writes them, are faults of the text here.
  std::pair<Program, Bindings> finish() {
    try {
      return graph_.finish(roots_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      raise(0, {.what = error.parts().what,
                .expected = error.parts().expected,
                .hint = error.parts().hint});
    }
  }

  [[noreturn]] void raise(std::size_t begin, const ParseFault& fault) {
    raise_parse_error(lexer_.source(), begin, fault);
  }

  void set(std::string_view name, NodeId node) {
    scope_.names.insert_or_assign(std::string(name),
                                  Named{.kind = Named::Kind::kValue, .index = node});
  }

  void header() {
    while (lexer_.current().kind == TokenKind::kNewline) lexer_.take();
    if (!lexer_.current().is("tilewright")) return;
    lexer_.take();
    const Token version = lexer_.require(TokenKind::kInteger, "the version of the text form");
    if (version.text == std::to_string(kTextVersion)) return;
    raise(version.begin, {.what = "the program is written in an unknown version of the text form",
                          .expected = "version " + std::to_string(kTextVersion),
                          .hint = "read it with the Tilewright that wrote it, or a later one"});
  }

  void statement() {
    const Token first = lexer_.current();
    const bool names = lexer_.following().kind == TokenKind::kName;
    if (first.is("capture") && names) return capture_statement();
    if (first.is("number") && names) return number_statement();
    if (first.kind == TokenKind::kName && lexer_.following().is("=")) return assignment();
    const Syntax syntax = read_syntax(lexer_);
    bare(first.begin, build_syntax(syntax, graph_, scope_, lexer_.source()));
  }

  /// Variables may be assigned again; captures and names of fixed meaning may not.
  void require_assignable(const Token& name) {
    const auto known = scope_.names.find(name.text);
    const bool capture = known != scope_.names.end() && known->second.kind == Named::Kind::kCapture;
    if (is_reserved(name.text) || capture) raise_taken(name);
    if (name.text.size() > kMaxNameBytes)
      raise(name.begin, {.what = "a name is too long",
                         .expected = "at most " + std::to_string(kMaxNameBytes) + " bytes"});
  }

  /// Declared names must mean nothing before.
  void require_new(const Token& name) {
    require_assignable(name);
    if (scope_.names.contains(name.text)) raise_taken(name);
  }

  [[noreturn]] void raise_taken(const Token& name) {
    raise(name.begin, {.what = "the name '" + std::string(name.text) + "' is taken",
                       .expected = "a name that nothing else has"});
  }

  /// Whether the same declaration stands above. Throws where another one of this name does.
  bool stands_already(const Token& name, const std::string& declaration) {
    const auto [known, inserted] = declarations_.try_emplace(std::string(name.text), declaration);
    if (!inserted && known->second != declaration) raise_taken(name);
    return !inserted;
  }

  void capture_statement() {
    lexer_.take();
    const CaptureDeclaration read = read_capture(lexer_);
    const std::string said = std::string(tilewright::name(read.slot.dtype)) + " " +
                             std::to_string(read.slot.rank) + " " + read.slot.name;
    if (stands_already(read.name, said)) return;
    require_new(read.name);
    const std::uint32_t index = add_capture(read.name.begin, read.slot);
    scope_.names.insert_or_assign(std::string(read.name.text),
                                  Named{.kind = Named::Kind::kCapture, .index = index});
  }

  std::uint32_t add_capture(std::size_t begin, const CaptureSlot& slot) {
    if (graph_.captures().size() >= kMaxCaptures)
      raise(begin, {.what = "the program has too many captured tensors",
                    .expected = "at most " + std::to_string(kMaxCaptures)});
    const auto bound = slot_named(declared_.captures, slot.name);
    if (bound == declared_.captures.end()) return graph_.capture(slot, unbound(slot));
    if (!(bound->first == slot))
      raise(begin,
            {.what = "captured tensor '" + slot.name + "' is bound to another kind of tensor",
             .expected = std::string(tilewright::name(slot.dtype)) + "[" +
                         std::to_string(slot.rank) + "]"});
    return graph_.capture(slot, bound->second);
  }

  void number_statement() {
    lexer_.take();
    NumberDeclaration read = read_number(lexer_);
    const std::string value = read.slot.type == Type::kInt ? std::to_string(read.value.integer)
                                                           : bits_text(read.value.real);
    if (stands_already(read.name, value + " " + read.slot.name)) return;
    require_new(read.name);
    const auto bound = slot_named(declared_.numbers, read.slot.name);
    if (bound != declared_.numbers.end()) read.value = value_of(read.name, read.slot, *bound);
    set(read.name.text, graph_.number(read.slot, read.value));
  }

  NumberValue value_of(const Token& name, const NumberSlot& slot,
                       const std::pair<NumberSlot, NumberValue>& bound) {
    if (bound.first.type == slot.type) return bound.second;
    if (slot.type == Type::kFloat)
      return {.real = static_cast<double>(bound.second.integer), .integer = 0};
    raise(name.begin,
          {.what = "number '" + slot.name + "' is bound to a float", .expected = "an integer"});
  }

  std::optional<Named> declare_outside(std::string_view name) {
    const auto capture = slot_named(declared_.captures, name);
    if (capture != declared_.captures.end())
      return Named{.kind = Named::Kind::kCapture,
                   .index = graph_.capture(capture->first, capture->second)};
    const auto number = slot_named(declared_.numbers, name);
    if (number == declared_.numbers.end()) return std::nullopt;
    return Named{.kind = Named::Kind::kValue,
                 .index = graph_.number(number->first, number->second)};
  }

  void assignment() {
    const Token name = lexer_.take();
    require_assignable(name);
    lexer_.take();
    const std::size_t begin = lexer_.current().begin;
    const Syntax syntax = read_syntax(lexer_);
    const NodeId node = build_syntax(syntax, graph_, scope_, lexer_.source());
    if (name.text == "mask") return set_mask(begin, node);
    if (name.text == "score") return set_score(begin, node);
    set(name.text, node);
  }

  void bare(std::size_t begin, NodeId node) {
    const Type type = graph_.type(node);
    const bool again = type == Type::kBool ? roots_.mask.has_value() : roots_.score.has_value();
    if (again || type == Type::kInt)
      raise(begin, {.what = again ? "the program has this result already"
                                  : "an integer is neither a mask nor a score",
                    .expected = "one truth value (the mask) and one float (the score)",
                    .hint = "say which it is: `mask = ...` or `score = ...`"});
    if (type == Type::kBool) return set_mask(begin, node);
    set_score(begin, node);
  }

  void set_mask(std::size_t begin, NodeId node) {
    if (graph_.type(node) != Type::kBool)
      raise(begin, {.what = "the mask is not a truth value",
                    .expected = "a comparison or a bool",
                    .hint = "compare it, for example with != 0"});
    if (reads_score(node))
      raise(begin, {.what = "the mask reads the score",
                    .expected = "a function of b, h, q, kv and captured tensors",
                    .hint = "let the score be -inf there: `score = -inf if c else score`"});
    roots_.mask = node;
    set("mask", node);
  }

  void set_score(std::size_t begin, NodeId node) {
    if (graph_.type(node) == Type::kBool)
      raise(begin, {.what = "the score is a truth value",
                    .expected = "a number",
                    .hint = "write `mask = ...` for a mask, or float(...)"});
    roots_.score = graph_.promote(node, Type::kFloat);
    set("score", *roots_.score);
  }

  bool reads_score(NodeId root) const {
    std::vector<bool> reached(root + 1, false);
    reached[root] = true;
    for (NodeId id = root + 1; id-- > 0;) {
      if (!reached[id]) continue;
      if (graph_.node(id).op == Op::kScore) return true;
      for (const NodeId operand : graph_.operands(id)) reached[operand] = true;
    }
    return false;
  }

  Lexer lexer_;
  const Declarations& declared_;
  Graph graph_;
  Scope scope_;
  std::map<std::string, std::string, std::less<>> declarations_;
  Roots roots_;
};

}  // namespace

std::pair<Program, Bindings> parse(std::string_view text, const Declarations& declared) {
  if (text.size() > kMaxTextBytes) {
    throw Error({.code = ErrorCode::kParse,
                 .what = "the program is too long",
                 .where = "line 1, column 1",
                 .expected = "at most " + std::to_string(kMaxTextBytes) + " bytes",
                 .got = std::to_string(text.size()) + " bytes",
                 .hint = "keep long tables in captured tensors"});
  }
  return ProgramReader(text, declared).read();
}

NodeId parse_expression(Graph& graph, std::string_view text,
                        const std::map<std::string, NodeId, std::less<>>& names) {
  Scope scope;
  scope.numbers_are_structure = true;
  for (const auto& [name, node] : names)
    scope.names.emplace(name, Named{.kind = Named::Kind::kValue, .index = node});
  Lexer lexer(text);
  const Syntax syntax = read_syntax(lexer);
  if (lexer.current().kind != TokenKind::kEnd)
    raise_parse_error(text, lexer.current().begin,
                      {.what = "the expression goes on wrongly", .expected = "its end"});
  return build_syntax(syntax, graph, scope, text);
}

}  // namespace tilewright::ir
