#pragma once

#include <cmath>
#include <cstdint>

namespace tilewright::ir {

/// Whether a number that an author writes is part of the structure (R10): every backend may then
/// simplify with it. All other numbers are bound values.
inline bool is_structural(std::int64_t value) { return value >= -1 && value <= 1; }
inline bool is_structural(double value) {
  return value == 1.0 || value == -1.0 || (value == 0.0 && !std::signbit(value)) ||
         !std::isfinite(value);
}

}  // namespace tilewright::ir
