#include "picture/mask_grid.h"

#include <algorithm>

#include "analyse/tile_class.h"
#include "base/formatted.h"

namespace tilewright::cli {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::string cell_text(const MaskGrid& grid) {
  if (grid.q_cell == 1 && grid.kv_cell == 1) return "a cell is one pair";
  return formatted("a cell is {} x {} tokens", grid.q_cell, grid.kv_cell);
}

MaskGrid make_mask_grid(const Program& program, const GridOptions& options) {
  MaskGrid grid;
  grid.q_len = options.q_len;
  grid.kv_len = options.kv_len;
  grid.q_cell = std::max<std::int64_t>(1, ceil_div(options.q_len, options.max_rows));
  grid.kv_cell = std::max<std::int64_t>(1, ceil_div(options.kv_len, options.max_columns));
  grid.rows = ceil_div(options.q_len, grid.q_cell);
  grid.columns = ceil_div(options.kv_len, grid.kv_cell);
  grid.cells.reserve(static_cast<std::size_t>(grid.rows * grid.columns));
  const analyse::TileClassifier classifier(program.structure(), program.bindings());
  analyse::TileRange tile{.b = options.b, .h = options.h, .q = {}, .kv = {}};
  for (std::int64_t row = 0; row < grid.rows; ++row) {
    tile.q.begin = options.q_base + row * grid.q_cell;
    tile.q.end = options.q_base + std::min(options.q_len, (row + 1) * grid.q_cell);
    for (std::int64_t column = 0; column < grid.columns; ++column) {
      tile.kv.begin = options.kv_base + column * grid.kv_cell;
      tile.kv.end = options.kv_base + std::min(options.kv_len, (column + 1) * grid.kv_cell);
      grid.cells.push_back(classifier.classify(tile));
    }
  }
  return grid;
}

}  // namespace tilewright::cli
