#include "picture/canvas.h"

#include <algorithm>

#include "picture/bitmap_font.h"

namespace tilewright::cli {

Canvas::Canvas(std::int64_t width, std::int64_t height, Colour paper)
    : width_(width), height_(height), pixels_(static_cast<std::size_t>(width * height * 3)) {
  fill({0, 0, width, height}, paper);
}

void Canvas::fill(const Rectangle& area, Colour colour) {
  const std::int64_t x_end = std::min(width_, area.x + area.width);
  const std::int64_t y_end = std::min(height_, area.y + area.height);
  for (std::int64_t y = std::max<std::int64_t>(0, area.y); y < y_end; ++y) {
    for (std::int64_t x = std::max<std::int64_t>(0, area.x); x < x_end; ++x) {
      std::uint8_t* pixel = pixels_.data() + static_cast<std::size_t>((y * width_ + x) * 3);
      pixel[0] = colour.red;
      pixel[1] = colour.green;
      pixel[2] = colour.blue;
    }
  }
}

void Canvas::write(const Words& place, std::string_view text, Colour colour) {
  std::int64_t along = 0;
  for (const char c : text) {
    const auto& columns = glyph_columns(c);
    for (std::int64_t dot = 0; dot < kGlyphColumns * kGlyphRows; ++dot) {
      const std::int64_t column = dot / kGlyphRows;
      const std::int64_t row = dot % kGlyphRows;
      if (((columns[static_cast<std::size_t>(column)] >> row) & 1) == 0) continue;
      const std::int64_t dx = (along + column) * place.scale;
      const std::int64_t dy = row * place.scale;
      const Rectangle upright{place.x + dx, place.y + dy, place.scale, place.scale};
      const Rectangle turned{place.x + dy, place.y - dx - place.scale, place.scale, place.scale};
      fill(place.upwards ? turned : upright, colour);
    }
    along += kGlyphColumns + 1;
  }
}

}  // namespace tilewright::cli
