#pragma once

#include <string_view>

#include "ir/graph.h"
#include "ir/scope.h"
#include "ir/syntax.h"

namespace tilewright::ir {

/// A number as written, without a place in a graph.
struct Constant {
  Type type = Type::kInt;
  NumberValue value;
};

/// The number that a literal (or float_bits call) stands for. Throws Error{kParse} for anything
/// else.
Constant constant_of(const Syntax& syntax, std::string_view source);

/// Adds one expression to the graph. Every subscript and division gets the condition under which
/// Python would reach it. Throws Error{kParse} at the offending place.
NodeId build_syntax(const Syntax& syntax, Graph& graph, Scope& scope, std::string_view source);

}  // namespace tilewright::ir
