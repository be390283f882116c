#pragma once

#include <string>

#include "tilewright/error.h"

namespace tilewright {

/// Throws Error{kInternal}; the target of TILEWRIGHT_CHECK.
[[noreturn]] void raise_broken_invariant(const char* condition, const char* file, int line);

}  // namespace tilewright

/// States an invariant of Tilewright. A user can never make it fail; if it does, that is a bug
/// here.
#define TILEWRIGHT_CHECK(condition)                                                         \
  do {                                                                                      \
    if (!(condition)) ::tilewright::raise_broken_invariant(#condition, __FILE__, __LINE__); \
  } while (false)
