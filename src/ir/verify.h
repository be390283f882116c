#pragma once

namespace tilewright::ir {

class Program;

/// Checks every invariant of a program: topological order, operand types and counts, slots in
/// range, root types, limits. Throws Error{kInternal} for a broken one, Error{kUnsupported} past a
/// limit.
void verify(const Program& program);

}  // namespace tilewright::ir
