#pragma once

#include <cstdint>
#include <string>

namespace tilewright::cuda {

/// A C++ expression of exactly this value; infinities and NaN too.
std::string float_text(double value);
std::string double_text(double value);
/// Of the emitted type Int.
std::string int_text(std::int64_t value);

}  // namespace tilewright::cuda
