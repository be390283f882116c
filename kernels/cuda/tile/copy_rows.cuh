// Copies of a tile's rows from global to shared memory by all threads of a block. What does not
// exist arrives as zeros: rows past the end, columns past the true head dim.
#pragma once

#include "ptx/async_copy.cuh"
#include "ptx/global_memory.cuh"
#include "tile/row_tile.cuh"

namespace tilewright::cuda {

constexpr __device__ __host__ int power_of_two_from(int value) {
  int power = 1;
  while (power < value) power *= 2;
  return power;
}

/// Rows of global memory that lie evenly.
struct StridedRows {
  const unsigned char* first;
  i64 row_bytes;
  i32 rows;

  __device__ __forceinline__ const unsigned char* row(i32 r) const { return first + r * row_bytes; }
  /// Byte `at` of row r, which lies `step` rows below `from`: an addition where rows lie evenly.
  __device__ __forceinline__ const unsigned char* below(const unsigned char* from, i32 /*r*/,
                                                        i32 step, i32 /*at*/) const {
    return from + step * row_bytes;
  }
  __device__ __forceinline__ bool has(i32 r) const { return r < rows; }
};

/// What a row holds.
struct RowColumns {
  i64 column_bytes;  ///< from one column to the next
  i32 columns;       ///< that exist
};

/// By kThreads threads, of which this one is `thread`. `rows` is a StridedRows or has the same
/// functions. kInBursts: whole tiles are copied without sizes, one copy right after the other. That
/// costs a quarter of the instructions, but a burst fills the queue that matrix loads go through
/// too: not in front of a product.
template <class Tile, int kThreads, int kCopyBytes, bool kInBursts>
struct RowCopy {
  static constexpr int kPieces = Tile::kColumns * Tile::kElement / kCopyBytes;
  /// Threads that share a row, a power of two so that a thread keeps its columns from row to row.
  static constexpr int kLanes =
      power_of_two_from(kPieces) < kThreads && kCopyBytes == 16 ? power_of_two_from(kPieces) : 32;
  static constexpr int kRowsAtOnce = kThreads / kLanes;
  i32 lane;   ///< of those that share a row
  i32 first;  ///< row of the tile

  explicit __device__ __forceinline__ RowCopy(u32 thread)
      : lane(static_cast<i32>(thread) % kLanes), first(static_cast<i32>(thread) / kLanes) {}

  template <class Rows>
  __device__ __forceinline__ void run(ptx::SharedAddress tile, const Rows& rows,
                                      RowColumns of) const {
    if (kThreads % kLanes != 0 && first >= kRowsAtOnce) return;
    if constexpr (kCopyBytes == 4) {
      by_4_bytes(tile, rows, of);
    } else if constexpr (kCopyBytes == 2) {
      by_elements(tile, rows, of);
    } else if (kInBursts && rows.has(Tile::kRows - 1) && of.columns >= Tile::kColumns) {
      by_16_bytes<true>(tile, rows, of);
    } else {
      by_16_bytes<false>(tile, rows, of);
    }
  }

 private:
  static __device__ __forceinline__ u32 clamped(i32 bytes, i32 most) {
    return static_cast<u32>(min(max(bytes, 0), most));
  }

  /// kWhole: every row and column of the tile exists.
  template <bool kWhole, class Rows>
  __device__ __forceinline__ void by_16_bytes(ptx::SharedAddress tile, const Rows& rows,
                                              RowColumns of) const {
#pragma unroll
    for (int piece = 0; piece < kPieces; piece += kLanes) {
      const i32 at = (piece + lane) * 16;
      if (kPieces % kLanes != 0 && at >= kPieces * 16) continue;
      const ptx::SharedAddress to = tile + (first * Tile::kRowBytes + at);
      const unsigned char* from = rows.row(first) + at;
#pragma unroll
      for (int r = 0; r < Tile::kRows; r += kRowsAtOnce) {
        if (r != 0) from = rows.below(from, first + r, kRowsAtOnce, at);
        if (Tile::kRows % kRowsAtOnce != 0 && first + r >= Tile::kRows) continue;
        if constexpr (kWhole) {
          ptx::copy_16_bytes(to + r * Tile::kRowBytes, from);
        } else {
          const i32 bytes = rows.has(first + r) ? of.columns * Tile::kElement - at : 0;
          ptx::copy_16_bytes(to + r * Tile::kRowBytes, from, clamped(bytes, 16));
        }
      }
    }
  }

  /// fp32 one by one, or 16-bit elements in pairs.
  template <class Rows>
  __device__ __forceinline__ void by_4_bytes(ptx::SharedAddress tile, const Rows& rows,
                                             RowColumns of) const {
    constexpr int kElements = 4 / Tile::kElement;
#pragma unroll 1
    for (i32 r = first; r < Tile::kRows; r += kRowsAtOnce) {
      const unsigned char* from = rows.row(r);
      const i32 columns = rows.has(r) ? of.columns : 0;
#pragma unroll 4
      for (i32 piece = lane; piece < kPieces; piece += kLanes) {
        const u32 bytes = clamped((columns - piece * kElements) * Tile::kElement, 4);
        ptx::copy_4_bytes(tile + (r * Tile::kRowBytes + piece * 4),
                          from + static_cast<i64>(piece) * kElements * of.column_bytes, bytes);
      }
    }
  }

  /// 16-bit elements one by one: eight loads under way at a time.
  template <class Rows>
  __device__ __forceinline__ void by_elements(ptx::SharedAddress tile, const Rows& rows,
                                              RowColumns of) const {
    constexpr int kAtOnce = 8;
#pragma unroll 1
    for (i32 c = lane; c < Tile::kColumns; c += kLanes) {
      const i64 offset = c * of.column_bytes;
#pragma unroll 1
      for (i32 r = first; r < Tile::kRows; r += kAtOnce * kRowsAtOnce) {
        u16 value[kAtOnce];
#pragma unroll
        for (int n = 0; n < kAtOnce; ++n) {
          const i32 row = r + n * kRowsAtOnce;
          value[n] = 0;
          if (c < of.columns && rows.has(row)) {
            value[n] = ptx::load(reinterpret_cast<const u16*>(rows.row(row) + offset));
          }
        }
#pragma unroll
        for (int n = 0; n < kAtOnce; ++n) {
          const i32 row = r + n * kRowsAtOnce;
          if (row >= Tile::kRows) break;
          ptx::store_shared_u16(tile + (row * Tile::kRowBytes + c * 2), value[n]);
        }
      }
    }
  }
};

}  // namespace tilewright::cuda
