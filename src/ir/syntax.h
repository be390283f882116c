#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/lexer.h"

namespace tilewright::ir {

enum class SyntaxKind : std::uint8_t {
  kName,
  kNumber,      ///< an integer, a real or inf, its minus sign folded in
  kCall,        ///< text is the function
  kSubscript,   ///< the first child is what is subscripted
  kUnary,       ///< text is - + ~ or not
  kChain,       ///< operators of one precedence from left to right, children one more
  kPower,       ///< base, exponent
  kComparison,  ///< children one more than operators, each pair joined by `and`
  kAnd,
  kOr,
  kChoice,  ///< condition, value where it holds, value where it does not
};

/// One expression as written. Chains are flat, so that depth is the depth of brackets, which the
/// reader limits.
struct Syntax {
  SyntaxKind kind = SyntaxKind::kName;
  std::size_t begin = 0;  ///< byte offset in the source
  std::string_view text;
  bool negative = false;   ///< kNumber
  bool has_guard = false;  ///< the last child of a call or subscript follows `when=`
  TokenKind number = TokenKind::kInteger;
  std::vector<std::string_view> operators;
  std::vector<Syntax> children;
};

/// Reads one expression and leaves the lexer behind it. Throws Error{kParse} past the limits of
/// text.h.
Syntax read_syntax(Lexer& lexer);

}  // namespace tilewright::ir
