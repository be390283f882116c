#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright::ir {

/// Python's precedences, loosest first.
enum Precedence : std::uint8_t {
  kComparing,
  kOr,
  kXor,
  kAnd,
  kShift,
  kSum,
  kProduct,
  kSign,
  kRaise,
  kAtom
};

/// How the text form writes an operation of two operands.
struct InfixOperator {
  std::string_view fn;  ///< OpRow::fn
  std::string_view symbol;
  Precedence precedence;
};

/// Null where `fn` is written as a call.
const InfixOperator* infix_operator(std::string_view fn);

}  // namespace tilewright::ir
