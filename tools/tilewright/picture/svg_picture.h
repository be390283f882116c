#pragma once

#include <string>

#include "picture/mask_grid.h"

namespace tilewright::cli {

/// The picture as a self-contained SVG document.
std::string svg_picture(const MaskPicture& picture);

}  // namespace tilewright::cli
