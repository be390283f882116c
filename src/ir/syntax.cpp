#include "ir/syntax.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ir/parse_error.h"
#include "ir/text.h"

namespace tilewright::ir {

namespace {

using Operators = std::span<const std::string_view>;

constexpr std::array<std::string_view, 1> kOrLevel{"|"};
constexpr std::array<std::string_view, 1> kXorLevel{"^"};
constexpr std::array<std::string_view, 1> kAndLevel{"&"};
constexpr std::array<std::string_view, 2> kShiftLevel{"<<", ">>"};
constexpr std::array<std::string_view, 2> kSumLevel{"+", "-"};
constexpr std::array<std::string_view, 4> kProductLevel{"*", "/", "//", "%"};
constexpr std::array<Operators, 6> kLevels{kOrLevel,    kXorLevel, kAndLevel,
                                           kShiftLevel, kSumLevel, kProductLevel};
constexpr std::array<std::string_view, 6> kComparisons{"<", "<=", ">", ">=", "==", "!="};
constexpr std::array<std::string_view, 3> kUnary{"-", "+", "~"};

bool is_one_of(const Token& token, Operators operators) {
  return token.kind == TokenKind::kSymbol &&
         std::ranges::find(operators, token.text) != operators.end();
}

bool is_number(const Token& token) {
  return token.kind == TokenKind::kInteger || token.kind == TokenKind::kReal || token.is("inf");
}

/// Recursive descent by Python's precedences.
class Reader {
 public:
  explicit Reader(Lexer& lexer) : lexer_(lexer) {}

  Syntax expression() {
    const Depth depth(*this);
    Syntax yes = any_of();
    if (!lexer_.current().is("if")) return yes;
    Syntax choice = made(SyntaxKind::kChoice, lexer_.take());
    Syntax condition = any_of();
    lexer_.require("else");
    Syntax no = expression();
    choice.children.reserve(3);
    choice.children.push_back(std::move(condition));
    choice.children.push_back(std::move(yes));
    choice.children.push_back(std::move(no));
    return choice;
  }

 private:
  /// Counts open recursion: hostile nesting must not exhaust the stack.
  class Depth {
   public:
    explicit Depth(Reader& reader) : reader_(reader) {
      if (++reader_.depth_ > kMaxTextDepth)
        reader_.raise("the program nests too deep",
                      "at most " + std::to_string(kMaxTextDepth) + " levels",
                      "name parts of it: `t = ...` on a line before");
    }
    ~Depth() { --reader_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Reader& reader_;
  };

  [[noreturn]] void raise(std::string what, std::string expected, std::string_view hint = {}) {
    raise_parse_error(lexer_.source(), lexer_.current().begin,
                      {.what = std::move(what), .expected = std::move(expected), .hint = hint});
  }

  Syntax made(SyntaxKind kind, const Token& token) {
    if (++count_ > kMaxTextOperations)
      raise("the program has too many operations",
            "at most " + std::to_string(kMaxTextOperations) + " in one expression");
    Syntax syntax;
    syntax.kind = kind;
    syntax.begin = token.begin;
    syntax.text = token.text;
    return syntax;
  }

  Syntax any_of() { return joined(SyntaxKind::kOr, "or", &Reader::all_of); }
  Syntax all_of() { return joined(SyntaxKind::kAnd, "and", &Reader::negation); }

  Syntax joined(SyntaxKind kind, std::string_view word, Syntax (Reader::*operand)()) {
    Syntax first = (this->*operand)();
    if (!lexer_.current().is(word)) return first;
    Syntax all = made(kind, lexer_.current());
    all.children.push_back(std::move(first));
    while (lexer_.current().is(word)) {
      lexer_.take();
      all.children.push_back((this->*operand)());
    }
    return all;
  }

  Syntax negation() {
    if (!lexer_.current().is("not")) return comparison();
    const Depth depth(*this);
    Syntax unary = made(SyntaxKind::kUnary, lexer_.take());
    unary.children.push_back(negation());
    return unary;
  }

  Syntax comparison() {
    Syntax first = level(0);
    if (!is_one_of(lexer_.current(), kComparisons)) return first;
    Syntax all = made(SyntaxKind::kComparison, lexer_.current());
    all.children.push_back(std::move(first));
    while (is_one_of(lexer_.current(), kComparisons)) {
      all.operators.push_back(lexer_.take().text);
      all.children.push_back(level(0));
    }
    return all;
  }

  Syntax level(std::size_t index) {
    if (index == kLevels.size()) return unary();
    Syntax first = level(index + 1);
    if (!is_one_of(lexer_.current(), kLevels[index])) return first;
    Syntax chain = made(SyntaxKind::kChain, lexer_.current());
    chain.children.push_back(std::move(first));
    while (is_one_of(lexer_.current(), kLevels[index])) {
      chain.operators.push_back(lexer_.take().text);
      chain.children.push_back(level(index + 1));
    }
    return chain;
  }

  Syntax unary() {
    if (!is_one_of(lexer_.current(), kUnary)) return power();
    const Depth depth(*this);
    const Token sign = lexer_.take();
    // -2 is a number, but -2 ** x is -(2 ** x).
    if (sign.is("-") && is_number(lexer_.current()) && !lexer_.following().is("**")) {
      Syntax number = power();
      number.negative = true;
      number.begin = sign.begin;
      return number;
    }
    Syntax unary = made(SyntaxKind::kUnary, sign);
    unary.children.push_back(this->unary());
    return unary;
  }

  Syntax power() {
    Syntax base = postfix();
    if (!lexer_.current().is("**")) return base;
    const Depth depth(*this);
    Syntax power = made(SyntaxKind::kPower, lexer_.take());
    power.children.push_back(std::move(base));
    power.children.push_back(unary());
    return power;
  }

  Syntax postfix() {
    Syntax value = primary();
    while (lexer_.current().is("[")) {
      const Token bracket = lexer_.take();
      if (value.kind != SyntaxKind::kSubscript) {
        Syntax subscript = made(SyntaxKind::kSubscript, bracket);
        subscript.begin = value.begin;
        subscript.children.push_back(std::move(value));
        value = std::move(subscript);
      }
      arguments(value, "]");
    }
    return value;
  }

  void arguments(Syntax& owner, std::string_view close) {
    while (!lexer_.current().is(close)) {
      if (owner.has_guard) raise("nothing may follow the guard", "'" + std::string(close) + "'");
      if (lexer_.current().is("when") && lexer_.following().is("=")) {
        lexer_.take();
        lexer_.take();
        owner.has_guard = true;
      }
      owner.children.push_back(expression());
      if (!lexer_.current().is(",")) break;
      lexer_.take();
    }
    lexer_.require(close);
  }

  Syntax primary() {
    const Token token = lexer_.current();
    if (is_number(token)) {
      Syntax number = made(SyntaxKind::kNumber, lexer_.take());
      number.number = token.kind == TokenKind::kInteger ? TokenKind::kInteger : TokenKind::kReal;
      return number;
    }
    if (token.is("(")) {
      lexer_.take();
      Syntax inner = expression();
      lexer_.require(")");
      return inner;
    }
    if (token.kind != TokenKind::kName || is_keyword(token)) raise_no_value(token);
    lexer_.take();
    if (!lexer_.current().is("(")) return made(SyntaxKind::kName, token);
    Syntax call = made(SyntaxKind::kCall, token);
    lexer_.take();
    arguments(call, ")");
    return call;
  }

  static bool is_keyword(const Token& token) {
    return token.is("if") || token.is("else") || token.is("and") || token.is("or") ||
           token.is("not") || token.is("capture") || token.is("number");
  }

  [[noreturn]] void raise_no_value(const Token& token) {
    std::string_view hint;
    if (token.is("&") || token.is("|")) hint = "write `and`, `or` or a single & or |";
    if (token.is("=")) hint = "compare with ==";
    if (token.is("if")) hint = "write `x if condition else y`";
    if (token.is("capture") || token.is("number"))
      hint = "declarations stand on lines of their own, before their use";
    raise("a value is missing here", "a name, a number, a call or '('", hint);
  }

  Lexer& lexer_;
  std::size_t depth_ = 0;
  std::size_t count_ = 0;
};

}  // namespace

Syntax read_syntax(Lexer& lexer) { return Reader(lexer).expression(); }

}  // namespace tilewright::ir
