#pragma once

#include <optional>
#include <string>

namespace tilewright::cpu::jit {

/// Whether SLEEF's shared library could be opened; asked once per process.
bool has_sleef();

/// The address of a function that generated code may call: libm by a fixed list, SLEEF by name.
/// Absent for every other name: nothing is searched in the process, where another LLVM may live.
std::optional<void*> find_symbol(const std::string& name);

}  // namespace tilewright::cpu::jit
