#include "ir/lexer.h"

#include <algorithm>
#include <array>
#include <string>

#include "ir/parse_error.h"

namespace tilewright::ir {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

constexpr std::array<std::string_view, 8> kPairs{"**", "//", "<<", ">>", "<=", ">=", "==", "!="};
constexpr std::string_view kSingles = "+-*/%&|^~<>()[],:=";

std::string_view hint_for(char c) {
  if (c == '!') return "write `not x` or `~x`";
  if (c == '?') return "write `x if c else y`";
  if (c == '.') return "programs have no attributes; a number needs a digit beside its point";
  return {};
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

Lexer::Lexer(std::string_view text) : source_(text) {
  current_ = read();
  following_ = read();
}

Token Lexer::take() {
  const Token taken = current_;
  current_ = following_;
  following_ = read();
  return taken;
}

bool Lexer::accept(std::string_view text) {
  if (!current_.is(text)) return false;
  take();
  return true;
}

void Lexer::require(std::string_view text) {
  if (!accept(text))
    raise_parse_error(source_, current_.begin,
                      {.what = "the text ends too soon or goes on wrongly",
                       .expected = "'" + std::string(text) + "'"});
}

Token Lexer::require(TokenKind kind, std::string_view expected) {
  if (current_.kind == kind) return take();
  raise_parse_error(
      source_, current_.begin,
      {.what = "a part of the statement is missing", .expected = std::string(expected)});
}

void Lexer::skip_blanks() {
  while (at_ < source_.size()) {
    const char c = source_[at_];
    if (c == '#')
      at_ = std::min(source_.find('\n', at_), source_.size());
    else if (is_blank(c) || (c == '\n' && open_brackets_ > 0))
      ++at_;
    else
      return;
  }
}

Token Lexer::cut(TokenKind kind, std::size_t end) {
  const Token token{.kind = kind, .text = source_.substr(at_, end - at_), .begin = at_};
  at_ = end;
  return token;
}

Token Lexer::read() {
  skip_blanks();
  if (at_ == source_.size()) return cut(TokenKind::kEnd, at_);
  const char c = source_[at_];
  if (c == '\n' || c == ';') return cut(TokenKind::kNewline, at_ + 1);
  if (is_letter(c)) return read_name();
  const bool point_first = c == '.' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1]);
  if (is_digit(c) || point_first) return read_number();
  if (c == '"') return read_string();
  return read_symbol();
}

Token Lexer::read_name() {
  std::size_t end = at_;
  while (end < source_.size() && (is_letter(source_[end]) || is_digit(source_[end]))) ++end;
  return cut(TokenKind::kName, end);
}

Token Lexer::read_number() {
  std::size_t end = at_;
  const auto digits = [&] {
    while (end < source_.size() && is_digit(source_[end])) ++end;
  };
  TokenKind kind = TokenKind::kInteger;
  if (source_.substr(end, 2) == "0x") {
    end = std::min(source_.find_first_not_of("0123456789abcdefABCDEF", end + 2), source_.size());
  } else {
    digits();
    if (end < source_.size() && source_[end] == '.') {
      kind = TokenKind::kReal;
      ++end;
      digits();
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      kind = TokenKind::kReal;
      ++end;
      if (end < source_.size() && (source_[end] == '+' || source_[end] == '-')) ++end;
      digits();
    }
  }
  if (end < source_.size() && (is_letter(source_[end]) || source_[end] == '.'))
    raise_parse_error(source_, at_, {.what = "a number is malformed", .expected = "digits"});
  return cut(kind, end);
}

Token Lexer::read_string() {
  std::size_t end = at_ + 1;
  while (end < source_.size() && source_[end] != '"' && source_[end] != '\n')
    end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size() || source_[end] != '"')
    raise_parse_error(source_, at_, {.what = "a string does not end", .expected = "'\"'"});
  return cut(TokenKind::kString, end + 1);
}

Token Lexer::read_symbol() {
  const std::string_view pair = source_.substr(at_, 2);
  if (std::ranges::find(kPairs, pair) != kPairs.end()) return cut(TokenKind::kSymbol, at_ + 2);
  const char c = source_[at_];
  if (kSingles.find(c) == std::string_view::npos)
    raise_parse_error(source_, at_,
                      {.what = "a character that no program has", .hint = hint_for(c)});
  if (c == '(' || c == '[') ++open_brackets_;
  if ((c == ')' || c == ']') && open_brackets_ > 0) --open_brackets_;
  return cut(TokenKind::kSymbol, at_ + 1);
}

}  // namespace tilewright::ir
