#include "backends/cpu/turn_tile.h"

#include <cstring>

namespace tilewright::cpu {

namespace {

constexpr int kSide = 8;
using Eight = std::uint16_t __attribute__((vector_size(16)));

Eight low_halves(Eight a, Eight b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
Eight high_halves(Eight a, Eight b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

/// Three rounds of interleaving rows that lie four apart transpose 8 x 8.
void turn_block(Eight (&rows)[kSide]) {
  for (int round = 0; round < 3; ++round) {
    Eight next[kSide];
    for (int i = 0; i < kSide / 2; ++i) {
      next[2 * i] = low_halves(rows[i], rows[i + kSide / 2]);
      next[2 * i + 1] = high_halves(rows[i], rows[i + kSide / 2]);
    }
    std::memcpy(rows, next, sizeof rows);
  }
}

}  // namespace

void turn_tile(const NarrowTile& tile, std::int64_t padded_rows, std::uint16_t* turned,
               std::int64_t turned_stride) {
  for (std::int64_t row = 0; row < padded_rows; row += kSide)
    for (std::int64_t col = 0; col < tile.cols; col += kSide) {
      Eight block[kSide];
      for (int i = 0; i < kSide; ++i) {
        block[i] = Eight{};
        if (row + i < tile.rows)
          std::memcpy(&block[i], tile.elements + (row + i) * tile.stride + col, sizeof block[i]);
      }
      turn_block(block);
      for (int i = 0; i < kSide; ++i)
        std::memcpy(turned + (col + i) * turned_stride + row, &block[i], sizeof block[i]);
    }
}

}  // namespace tilewright::cpu
