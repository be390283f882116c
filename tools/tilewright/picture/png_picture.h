#pragma once

#include <string>

#include "picture/mask_grid.h"

namespace tilewright::cli {

/// Writes the picture as an RGB PNG. Throws Error{kIo} where the file cannot be written.
void write_png_picture(const std::string& path, const MaskPicture& picture);

}  // namespace tilewright::cli
