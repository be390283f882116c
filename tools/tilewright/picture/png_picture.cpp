#include "picture/png_picture.h"

#include <png.h>

#include <algorithm>
#include <utility>

#include "base/formatted.h"
#include "io/output_file.h"
#include "picture/canvas.h"
#include "picture/layout.h"
#include "picture/legend.h"
#include "picture/palette.h"
#include "tilewright/error.h"

namespace tilewright::cli {

namespace {

constexpr std::int64_t kPixels = 2;  // device pixels of one layout pixel: sharp on dense screens

Rectangle scaled(const Rectangle& r) {
  return {r.x * kPixels, r.y * kPixels, r.width * kPixels, r.height * kPixels};
}

class Painter {
 public:
  explicit Painter(const MaskPicture& picture)
      : picture_(picture),
        layout_(layout_of(picture)),
        canvas_(layout_.width * kPixels, layout_.height * kPixels, kPaper) {}

  Canvas paint() {
    const MaskGrid& grid = picture_.grid;
    words(layout_.left, Layout::kMargin, picture_.title, 3);
    words(layout_.left, layout_.top - 18, formatted("key 0..{}; {}", grid.kv_len, cell_text(grid)));
    const std::string query = formatted("query 0..{}", grid.q_len);
    const std::int64_t length = static_cast<std::int64_t>(query.size()) * (kGlyph + 1);
    canvas_.write({(layout_.left - 20) * kPixels, (layout_.top + length) * kPixels, 2, true}, query,
                  kInk);
    cells();
    legend();
    std::int64_t y = layout_.notes_top() - 4;
    for (const std::string& note : picture_.notes) {
      words(layout_.left, y, note);
      y += Layout::kLine;
    }
    return std::move(canvas_);
  }

 private:
  static constexpr std::int64_t kGlyph = 5;

  void words(std::int64_t x, std::int64_t y, const std::string& text, std::int64_t scale = 2) {
    const std::int64_t room = (layout_.width * kPixels - x * kPixels) / ((kGlyph + 1) * scale);
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(room - 1, 0));
    const std::string shown = text.size() > most ? text.substr(0, most - 3) + "..." : text;
    canvas_.write({x * kPixels, y * kPixels, scale, false}, shown, kInk);
  }

  void cells() {
    const MaskGrid& grid = picture_.grid;
    for (std::int64_t row = 0; row < grid.rows; ++row) {
      for (std::int64_t column = 0; column < grid.columns; ++column) {
        canvas_.fill(scaled({layout_.left + column * layout_.cell_width,
                             layout_.top + row * layout_.cell_height, layout_.cell_width,
                             layout_.cell_height}),
                     colour_of(grid.at(row, column)));
      }
    }
  }

  void legend() {
    std::int64_t x = layout_.left;
    const std::int64_t y = layout_.legend_top() - 12;
    for (const LegendEntry& entry : kLegend) {
      canvas_.fill(scaled({x, y, 14, 14}), colour_of(entry.tile_class));
      words(x + 20, y + 3, entry.words);
      x += 190;
    }
  }

  const MaskPicture& picture_;
  Layout layout_;
  Canvas canvas_;
};

[[noreturn]] void raise_png_error(const png_image& image) {
  throw Error({.code = ErrorCode::kIo,
               .what = std::string("libpng: ") + image.message,
               .where = {},
               .expected = {},
               .got = {},
               .hint = {}});
}

std::string encoded(const Canvas& canvas) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(canvas.width());
  image.height = static_cast<png_uint_32>(canvas.height());
  image.format = PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, canvas.row(0), 0, nullptr) == 0) {
    raise_png_error(image);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

void write_png_picture(const std::string& path, const MaskPicture& picture) {
  io::write_text_file(path, encoded(Painter(picture).paint()));
}

}  // namespace tilewright::cli
