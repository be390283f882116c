#pragma once

#include <string>

#include "picture/mask_grid.h"

namespace tilewright::cli {

/// Cells that fit a terminal: at most this many columns, and two rows of cells a line.
inline constexpr std::int64_t kTerminalColumns = 64;

/// Text of a mask. With colours a line holds two rows as half blocks; without, one row of '.', '+'
/// and '#', which any pipe and any screen reader takes.
std::string terminal_picture(const MaskPicture& picture, bool with_colours);

}  // namespace tilewright::cli
