#include "picture/terminal_picture.h"

#include <iterator>

#include "base/formatted.h"
#include "picture/palette.h"

namespace tilewright::cli {

namespace {

constexpr const char* kReset = "\x1b[0m";
constexpr const char* kUpperHalf = "\xe2\x96\x80";

std::string foreground(Colour c) {
  return formatted("\x1b[38;2;{};{};{}m", c.red, c.green, c.blue);
}

std::string background(Colour c) {
  return formatted("\x1b[48;2;{};{};{}m", c.red, c.green, c.blue);
}

std::string coloured_line(const MaskGrid& grid, std::int64_t row) {
  std::string line;
  for (std::int64_t column = 0; column < grid.columns; ++column) {
    line += foreground(colour_of(grid.at(row, column)));
    line += row + 1 < grid.rows ? background(colour_of(grid.at(row + 1, column))) : "\x1b[49m";
    line += kUpperHalf;
  }
  return line + kReset + "\n";
}

char letter(TileClass tile_class) {
  switch (tile_class) {
    case TileClass::kEmpty:
      return '.';
    case TileClass::kPartial:
      return '+';
    case TileClass::kFull:
      return '#';
  }
  return '.';
}

std::string plain_line(const MaskGrid& grid, std::int64_t row) {
  std::string line;
  for (std::int64_t column = 0; column < grid.columns; ++column) {
    line += letter(grid.at(row, column));
  }
  return line + "\n";
}

std::string swatch(TileClass tile_class, const char* word, bool with_colours) {
  if (!with_colours) return formatted("{} {}  ", letter(tile_class), word);
  return formatted("{}  {} {}  ", background(colour_of(tile_class)), kReset, word);
}

}  // namespace

std::string terminal_picture(const MaskPicture& picture, bool with_colours) {
  const MaskGrid& grid = picture.grid;
  std::string text = picture.title + "\n";
  text += formatted("query 0..{} down, key 0..{} right; {}\n", grid.q_len, grid.kv_len,
                    cell_text(grid));
  for (std::int64_t row = 0; row < grid.rows; row += with_colours ? 2 : 1) {
    text += with_colours ? coloured_line(grid, row) : plain_line(grid, row);
  }
  text += swatch(TileClass::kEmpty, "empty", with_colours);
  text += swatch(TileClass::kPartial, "partial", with_colours);
  text += swatch(TileClass::kFull, "full", with_colours);
  text += "\n";
  for (const std::string& note : picture.notes) text += note + "\n";
  return text;
}

}  // namespace tilewright::cli
