#include "picture/svg_picture.h"

#include <cctype>
#include <iterator>

#include "base/formatted.h"
#include "picture/layout.h"
#include "picture/legend.h"
#include "picture/palette.h"

namespace tilewright::cli {

namespace {

std::string hex(Colour c) { return formatted("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '\n':
        out += "; ";
        break;
      default:
        out += std::iscntrl(static_cast<unsigned char>(c)) != 0 ? ' ' : c;
    }
  }
  return out;
}

struct Text {
  std::int64_t x = 0;
  std::int64_t y = 0;
  const char* style = "";
};

std::string text_element(const Text& place, const std::string& words) {
  return formatted("<text x=\"{}\" y=\"{}\" {}>{}</text>\n", place.x, place.y, place.style,
                   escaped(words));
}

/// One path of a class: runs of equal cells, so that a file stays small.
std::string class_path(const MaskGrid& grid, const Layout& layout, TileClass wanted) {
  std::string path;
  for (std::int64_t row = 0; row < grid.rows; ++row) {
    for (std::int64_t column = 0; column < grid.columns;) {
      std::int64_t end = column;
      while (end < grid.columns && grid.at(row, end) == wanted) ++end;
      if (end > column) {
        path += formatted("M{} {}h{}v{}h-{}z", layout.left + column * layout.cell_width,
                          layout.top + row * layout.cell_height, (end - column) * layout.cell_width,
                          layout.cell_height, (end - column) * layout.cell_width);
      }
      column = std::max(end, column + 1);
    }
  }
  if (path.empty()) return {};
  return formatted("<path fill=\"{}\" d=\"{}\"/>\n", hex(colour_of(wanted)), path);
}

std::string legend(const Layout& layout) {
  std::string svg;
  std::int64_t x = layout.left;
  for (const LegendEntry& entry : kLegend) {
    svg += formatted("<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"14\" fill=\"{}\"/>\n", x,
                     layout.legend_top() - 12, hex(colour_of(entry.tile_class)));
    svg += text_element({x + 20, layout.legend_top()}, entry.words);
    x += 190;
  }
  return svg;
}

}  // namespace

std::string svg_picture(const MaskPicture& picture) {
  const Layout layout = layout_of(picture);
  const MaskGrid& grid = picture.grid;
  std::string svg = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"monospace\" font-size=\"13\" fill=\"{2}\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"{3}\"/>\n",
      layout.width, layout.height, hex(kInk), hex(kPaper));
  svg += text_element({layout.left, Layout::kMargin + 12, "font-size=\"16\""}, picture.title);
  svg += text_element({layout.left, layout.top - 10},
                      formatted("key 0..{}; {}", grid.kv_len, cell_text(grid)));
  svg += formatted(
      "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"end\">query "
      "0..{}</text>\n",
      layout.left - 10, layout.top, grid.q_len);
  svg += "<g shape-rendering=\"crispEdges\">\n";
  for (const LegendEntry& entry : kLegend) svg += class_path(grid, layout, entry.tile_class);
  svg += "</g>\n" + legend(layout);
  std::int64_t y = layout.notes_top() + 6;
  for (const std::string& note : picture.notes) {
    svg += text_element({layout.left, y}, note);
    y += Layout::kLine;
  }
  return svg + "</svg>\n";
}

}  // namespace tilewright::cli
