#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"

namespace tilewright::ir {

/// Version that print() writes first; parse() refuses a later one.
inline constexpr int kTextVersion = 1;

// Limits that make untrusted text safe. Every program that print() can write stays within them.
inline constexpr std::size_t kMaxTextBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxTextDepth = 200;
inline constexpr std::size_t kMaxTextOperations = 8 * kMaxNodes;

/// Captures and numbers that a text may use without declaring them. One that the text declares too
/// must agree in dtype and rank or in type; its view or value then wins.
struct Declarations {
  std::vector<std::pair<CaptureSlot, TensorView>> captures;
  std::vector<std::pair<NumberSlot, NumberValue>> numbers;
};

/// The text form of a program with its numbers; captured tensors appear as declarations (name,
/// dtype, rank) only. parse(print(p, n)) has the same structure and content digests.
std::string print(const Program& program, const Bindings& bindings);

/// Reads the text form; captures that `declared` does not bind come back unbound (null data, shape
/// of zeros). Safe on untrusted text: limits on length, operations and depth. Throws Error{kParse}
/// whose `where` is "line L, column C" and whose `got` shows the place.
std::pair<Program, Bindings> parse(std::string_view text, const Declarations& declared = {});

/// Builds one expression over named nodes of a graph; no other names exist, and its numbers are
/// part of the structure. Derivatives of ops.def are read with it.
NodeId parse_expression(Graph& graph, std::string_view text,
                        const std::map<std::string, NodeId, std::less<>>& names);

}  // namespace tilewright::ir
