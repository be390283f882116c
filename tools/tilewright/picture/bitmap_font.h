#pragma once

#include <array>
#include <cstdint>

namespace tilewright::cli {

inline constexpr std::int64_t kGlyphColumns = 5;
inline constexpr std::int64_t kGlyphRows = 8;

using GlyphColumns = std::array<std::uint8_t, kGlyphColumns>;

/// Dots of one character, a byte a column, lowest bit on top. What is not printable ASCII looks
/// like a question mark.
const GlyphColumns& glyph_columns(char character);

}  // namespace tilewright::cli
