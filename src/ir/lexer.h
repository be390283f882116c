#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewright::ir {

enum class TokenKind : std::uint8_t {
  kName,
  kInteger,
  kReal,
  kString,  ///< quotes included
  kSymbol,
  kNewline,  ///< a line end outside brackets, or ';'
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::size_t begin = 0;  ///< byte offset

  bool is(std::string_view wanted) const {
    return (kind == TokenKind::kSymbol || kind == TokenKind::kName) && text == wanted;
  }
};

/// Cuts text into tokens, one ahead of the reader. Line ends inside brackets, blanks and # comments
/// vanish. Throws Error{kParse} for bytes that no token has.
class Lexer {
 public:
  explicit Lexer(std::string_view text);

  const Token& current() const { return current_; }
  const Token& following() const { return following_; }
  /// Returns the current token and moves on.
  Token take();
  /// Takes the current token if it is this symbol or name.
  bool accept(std::string_view text);
  /// Takes the current token. Throws Error{kParse} unless it is this symbol or name, or of this
  /// kind; `expected` says what belongs here.
  void require(std::string_view text);
  Token require(TokenKind kind, std::string_view expected);
  std::string_view source() const { return source_; }

 private:
  Token read();
  void skip_blanks();
  Token read_name();
  Token read_number();
  Token read_string();
  Token read_symbol();
  Token cut(TokenKind kind, std::size_t end);

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t open_brackets_ = 0;
  Token current_;
  Token following_;
};

/// Whether the whole text is one name: a letter or underscore, then letters, digits, underscores.
bool is_name(std::string_view text);

}  // namespace tilewright::ir
