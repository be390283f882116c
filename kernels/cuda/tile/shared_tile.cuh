// Tiles in shared memory as the copy engine writes them and the matrix instructions read them:
// chunks of 64 columns (128 bytes) one after the other, each chunk row-major with the 128-byte
// swizzle. PTX ISA: "Shared Memory Matrix Layout", "Matrix Descriptor Format".
#pragma once

#include "ptx/shared_address.cuh"

namespace tilewright::cuda {

inline constexpr int kChunkColumns = 64;
inline constexpr int kChunkRowBytes = 128;

constexpr __device__ __host__ int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// kRows x kColumns 16-bit elements; columns are stored up to the next multiple of 64, zero past
/// the tensor's edge.
template <int kRows, int kColumns>
struct SharedTile {
  static constexpr int kChunks = (kColumns + kChunkColumns - 1) / kChunkColumns;
  static constexpr int kChunkBytes = kRows * kChunkRowBytes;
  static constexpr int kBytes = kChunks * kChunkBytes;

  static constexpr u64 kSwizzle128 = 1ull << 62;
  /// Eight rows of 128 bytes: the distance between swizzle atoms along the rows.
  static constexpr u64 kAtomStride = static_cast<u64>(8 * kChunkRowBytes / 16) << 32;

  /// Descriptor of the operand whose k dimension runs along the columns.
  static __device__ __forceinline__ u64 k_along_columns(ptx::SharedAddress tile) {
    return kSwizzle128 | kAtomStride | (1ull << 16) | (tile.bytes / 16);
  }
  /// How far k-step `step` (16 columns) lies behind that descriptor.
  static constexpr __device__ u64 column_step(int step) {
    return static_cast<u64>((step / 4 * kChunkBytes + step % 4 * 32) / 16);
  }

  /// Descriptor of the operand whose k dimension runs along the rows.
  static __device__ __forceinline__ u64 k_along_rows(ptx::SharedAddress tile) {
    return kSwizzle128 | kAtomStride | (static_cast<u64>(kChunkBytes / 16) << 16) |
           (tile.bytes / 16);
  }
  /// How far k-step `step` (16 rows) lies behind that descriptor.
  static constexpr __device__ u64 row_step(int step) {
    return static_cast<u64>(step * 16 * kChunkRowBytes / 16);
  }
};

}  // namespace tilewright::cuda
