#pragma once

#include <cstdint>

namespace tilewright::cpu {

/// A tile of 16-bit elements, row-major.
struct NarrowTile {
  const std::uint16_t* elements = nullptr;
  std::int64_t stride = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// Writes the transpose to `turned` [cols][turned_stride], with zeros from `rows` up to
/// `padded_rows`. cols and stride of the source, padded_rows and turned_stride are multiples of 8.
void turn_tile(const NarrowTile& tile, std::int64_t padded_rows, std::uint16_t* turned,
               std::int64_t turned_stride);

}  // namespace tilewright::cpu
