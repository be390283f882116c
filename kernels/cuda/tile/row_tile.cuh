// Tiles in shared memory as a warp copies them and its matrix loads read them: row-major, every row
// padded with zeros to a whole number of matrix steps and then by 16 bytes, so that eight
// neighbouring rows lie in different banks whatever the head dim is, and every offset inside a tile
// is an immediate operand.
#pragma once

#include "ptx/load_matrix.cuh"
#include "ptx/tensor_float.cuh"

namespace tilewright::cuda {

template <class Element>
inline constexpr int kElementBytes = 2;
template <>
inline constexpr int kElementBytes<F32> = 4;
template <>
inline constexpr int kElementBytes<Tf32> = 4;

/// Bytes along a row that one matrix instruction takes: 16 16-bit or 8 fp32 elements.
inline constexpr int kStepBytes = 32;

template <class Element, int kTileRows, int kTileColumns>
struct RowTile {
  static constexpr int kRows = kTileRows;
  static constexpr int kElement = kElementBytes<Element>;
  static constexpr int kSteps = (kTileColumns * kElement + kStepBytes - 1) / kStepBytes;
  static constexpr int kColumns = kSteps * kStepBytes / kElement;  ///< padding included
  static constexpr int kRowBytes = kSteps * kStepBytes + 16;
  static constexpr int kBytes = kRows * kRowBytes;
};

/// Some rows and columns of a tile, where the part begins being said by an address.
template <class Tile, int kPartRows, int kPartColumns>
struct RowTilePart {
  static constexpr int kRows = kPartRows;
  static constexpr int kElement = Tile::kElement;
  static constexpr int kColumns = kPartColumns;
  static constexpr int kSteps = kPartColumns * kElement / kStepBytes;
  static constexpr int kRowBytes = Tile::kRowBytes;
};

/// Where a lane reads a fragment whose 16 rows are rows of the tile: operand A, or operand B
/// transposed.
template <class Tile>
__device__ __forceinline__ ptx::SharedAddress lane_in_16_rows(ptx::SharedAddress tile, u32 lane) {
  return tile + (lane % 16 * Tile::kRowBytes + lane / 16 * 16);
}

/// Where a lane reads two B fragments whose 2 x 8 columns are rows of the tile.
template <class Tile>
__device__ __forceinline__ ptx::SharedAddress lane_in_two_by_8_rows(ptx::SharedAddress tile,
                                                                    u32 lane) {
  return tile + ((lane / 16 * 8 + lane % 8) * Tile::kRowBytes + lane / 8 % 2 * 16);
}

/// Where a lane reads word by word a B fragment of fp32 whose k dimension runs along the rows: rows
/// 2 t and 2 t + 1, column g of lane 4 g + t.
template <class Tile>
__device__ __forceinline__ ptx::SharedAddress lane_in_row_pairs(ptx::SharedAddress tile, u32 lane) {
  return tile + (lane % 4 * 2 * Tile::kRowBytes + lane / 4 * 4);
}

}  // namespace tilewright::cuda
