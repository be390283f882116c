#pragma once

#include <cstdint>

#include "tilewright/mask_map.h"

namespace tilewright::cli {

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
};

// One palette for terminal, SVG and PNG; told apart in grey and by readers who do not see red.
inline constexpr Colour kEmptyColour{0xe8, 0xec, 0xf1};
inline constexpr Colour kPartialColour{0xf2, 0xa1, 0x3b};
inline constexpr Colour kFullColour{0x12, 0x5e, 0x7a};
inline constexpr Colour kPaper{0xff, 0xff, 0xff};
inline constexpr Colour kInk{0x22, 0x2b, 0x36};

constexpr Colour colour_of(TileClass tile_class) {
  switch (tile_class) {
    case TileClass::kEmpty:
      return kEmptyColour;
    case TileClass::kPartial:
      return kPartialColour;
    case TileClass::kFull:
      return kFullColour;
  }
  return kEmptyColour;
}

}  // namespace tilewright::cli
