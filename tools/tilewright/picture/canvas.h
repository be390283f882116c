#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "picture/palette.h"

namespace tilewright::cli {

struct Rectangle {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// An RGB image that rectangles and words are painted on; what lies outside is cut off.
class Canvas {
 public:
  Canvas(std::int64_t width, std::int64_t height, Colour paper);

  std::int64_t width() const { return width_; }
  std::int64_t height() const { return height_; }
  const std::uint8_t* row(std::int64_t y) const {
    return pixels_.data() + static_cast<std::size_t>(y * width_ * 3);
  }

  void fill(const Rectangle& area, Colour colour);

  struct Words {
    std::int64_t x = 0;  ///< left end
    std::int64_t y = 0;  ///< upper edge
    std::int64_t scale = 1;
    bool upwards = false;  ///< turned by 90 degrees: (x, y) is then the lower left end
  };
  void write(const Words& place, std::string_view text, Colour colour);

 private:
  std::int64_t width_;
  std::int64_t height_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace tilewright::cli
