#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/mask_map.h"
#include "tilewright/program.h"

namespace tilewright::cli {

/// One (b, h) of a mask at the resolution of a picture: each cell stands for a rectangle of pairs.
struct MaskGrid {
  std::int64_t q_len = 0;
  std::int64_t kv_len = 0;
  std::int64_t q_cell = 1;   ///< query tokens of one cell
  std::int64_t kv_cell = 1;  ///< key tokens of one cell
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<TileClass> cells;  ///< row-major [rows, columns]

  TileClass at(std::int64_t row, std::int64_t column) const {
    return cells[static_cast<std::size_t>(row * columns + column)];
  }
};

struct GridOptions {
  std::int64_t b = 0;
  std::int64_t h = 0;
  std::int64_t q_len = 0;
  std::int64_t kv_len = 0;
  std::int64_t q_base = 0;
  std::int64_t kv_base = 0;
  std::int64_t max_rows = 512;
  std::int64_t max_columns = 512;
};

/// Classifies every cell by the analysis that the kernels use; a cell of one pair is exact.
MaskGrid make_mask_grid(const Program& program, const GridOptions& options);

/// "a cell is 128 x 128 tokens", "a cell is one pair".
std::string cell_text(const MaskGrid& grid);

/// A mask's picture with the words around it.
struct MaskPicture {
  std::string title;
  MaskGrid grid;
  std::vector<std::string> notes;  ///< lines under the legend
};

}  // namespace tilewright::cli
