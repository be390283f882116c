#pragma once

#include "tilewright/mask_map.h"

namespace tilewright::cli {

struct LegendEntry {
  TileClass tile_class;
  const char* words;
};

inline constexpr LegendEntry kLegend[] = {{TileClass::kEmpty, "empty: skipped"},
                                          {TileClass::kPartial, "partial: pair by pair"},
                                          {TileClass::kFull, "full: no mask"}};

}  // namespace tilewright::cli
