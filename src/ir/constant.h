#pragma once

#include <string_view>

#include "ir/node.h"
#include "ir/syntax.h"

namespace tilewright::ir {

/// A number as written, without a place in a graph.
struct Constant {
  Type type = Type::kInt;
  NumberValue value;
};

/// The number that a literal, nan or a float_bits call stands for. Throws Error{kParse} for
/// anything else.
Constant constant_of(const Syntax& syntax, std::string_view source);

}  // namespace tilewright::ir
