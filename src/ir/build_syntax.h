#pragma once

#include <string_view>

#include "ir/graph.h"
#include "ir/scope.h"
#include "ir/syntax.h"

namespace tilewright::ir {

/// Adds one expression to the graph. Every subscript and division gets the condition under which
/// Python would reach it. Throws Error{kParse} at the offending place.
NodeId build_syntax(const Syntax& syntax, Graph& graph, Scope& scope, std::string_view source);

}  // namespace tilewright::ir
