#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backends/cpu/score_pass.h"

namespace tilewright::cpu {

/// The score pass of one structure and variant, ready to run: generated code or the tile
/// interpreter. Immutable; any number of threads may run it at once, each on tiles of its own.
struct LoadedPass {
  using Run = std::function<void(const PassCall*, const PassTile*)>;

  Run full;    ///< takes mask_mod as true
  Run masked;  ///< evaluates mask_mod
  std::int64_t scratch_bytes_per_column = 0;
  std::string description;  ///< for explain and doctor

  /// Bytes of PassTile::column_scratch for tiles of up to `columns` prob_cols.
  std::int64_t column_scratch_bytes(std::int64_t columns) const noexcept {
    return scratch_bytes_per_column * ((columns + 15) / 16 * 16);
  }
};

}  // namespace tilewright::cpu
