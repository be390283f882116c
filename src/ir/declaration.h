#pragma once

#include <string_view>

#include "ir/lexer.h"
#include "ir/node.h"

namespace tilewright::ir {

/// `capture doc: i32[1]` as written; `name` is how the text calls it, the slot's name how the host
/// binds it.
struct CaptureDeclaration {
  Token name;
  CaptureSlot slot;
};

/// `number window: int = 1024` as written.
struct NumberDeclaration {
  Token name;
  NumberSlot slot;
  NumberValue value;
};

/// Read a declaration behind its keyword and leave the lexer behind it. Throw Error{kParse}.
CaptureDeclaration read_capture(Lexer& lexer);
NumberDeclaration read_number(Lexer& lexer);

}  // namespace tilewright::ir
