#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "ir/program.h"

namespace tilewright::ir {

/// The text form of a program with its numbers; captured tensors appear as declarations (name,
/// dtype, rank) only. parse(print(p, n)) has the same structure and content digests.
std::string print(const Program& program, const Bindings& bindings);

/// Reads the text form; captures come back unbound (null data, shape of zeros). Safe on untrusted
/// text: limits on length, nodes and depth. Throws Error{kParse} whose `where` is "line L, column
/// C".
std::pair<Program, Bindings> parse(std::string_view text);

}  // namespace tilewright::ir
