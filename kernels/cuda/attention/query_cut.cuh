// Which query rows a tile of backward has. Under span lists a tile lies in one block of query rows,
// which has one list: blocks are cut into tiles of the same height, the last one may be lower.
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda {

/// Without lists block_tiles is 1 and both other numbers are the rows of a whole tile.
struct QueryCut {
  i32 tile_rows;    ///< at most the rows that a tile has room for
  i32 block_tiles;  ///< of a block: ceil(block_rows / tile_rows)
  i32 block_rows;   ///< of the lists

  __device__ __forceinline__ i32 begin(i32 tile) const {
    const i32 block = tile / block_tiles;
    return block * block_rows + (tile - block * block_tiles) * tile_rows;
  }
  /// Behind the tile's last row, of `rows` in all.
  __device__ __forceinline__ i32 end(i32 tile, i32 rows) const {
    const i32 block = tile / block_tiles;
    const i32 inside = min((tile - block * block_tiles + 1) * tile_rows, block_rows);
    return inside < rows - block * block_rows ? block * block_rows + inside : rows;
  }
  /// The tile that has a row.
  __device__ __forceinline__ i32 tile_of(i32 row) const {
    const i32 block = row / block_rows;
    return block * block_tiles + (row - block * block_rows) / tile_rows;
  }
};

}  // namespace tilewright::cuda
