#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::ir {

/// Shortest text that reads back as the same finite double or infinity; always has a point, an
/// exponent or a name, so that it never reads as an integer.
std::string real_text(double value);

/// "0x7ff8000000000000"
std::string bits_text(double value);

/// The inverse of real_text for unsigned decimal text; absent where the value does not fit.
std::optional<double> read_real_text(std::string_view text);

/// Decimal or 0x text; absent where the value does not fit 64 bits.
std::optional<std::uint64_t> read_integer_text(std::string_view text);

}  // namespace tilewright::ir
