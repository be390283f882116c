#pragma once

#include <algorithm>
#include <cstdint>

#include "picture/mask_grid.h"

namespace tilewright::cli {

/// Where the parts of a picture lie, in pixels; SVG and PNG share it.
struct Layout {
  std::int64_t cell_width = 1;
  std::int64_t cell_height = 1;
  std::int64_t left = 0;  ///< of the grid
  std::int64_t top = 0;
  std::int64_t grid_width = 0;
  std::int64_t grid_height = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;

  std::int64_t legend_top() const { return top + grid_height + 2 * kLine; }
  std::int64_t notes_top() const { return legend_top() + kLine + kLine / 2; }

  static constexpr std::int64_t kLine = 22;
  static constexpr std::int64_t kMargin = 24;
  static constexpr std::int64_t kAxis = 24;         ///< room left of the grid
  static constexpr std::int64_t kGridPixels = 512;  ///< the longer side aims at this
  static constexpr std::int64_t kLeastWidth = 640;
};

inline Layout layout_of(const MaskPicture& picture) {
  const MaskGrid& grid = picture.grid;
  Layout layout;
  const std::int64_t cells = std::max<std::int64_t>({1, grid.rows, grid.columns});
  layout.cell_width = std::max<std::int64_t>(1, Layout::kGridPixels / cells);
  layout.cell_height = layout.cell_width;
  layout.left = Layout::kMargin + Layout::kAxis;
  layout.top = Layout::kMargin + 3 * Layout::kLine;
  layout.grid_width = grid.columns * layout.cell_width;
  layout.grid_height = grid.rows * layout.cell_height;
  layout.width = std::max(Layout::kLeastWidth, layout.left + layout.grid_width + Layout::kMargin);
  layout.height = layout.notes_top() +
                  static_cast<std::int64_t>(picture.notes.size()) * Layout::kLine + Layout::kMargin;
  return layout;
}

}  // namespace tilewright::cli
