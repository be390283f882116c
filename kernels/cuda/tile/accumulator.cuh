// A 64-row fp32 accumulator of one warpgroup, and the only place that knows which element a thread
// holds. PTX ISA: "Register Fragments for wgmma.mma_async.m64nNk16", matrix D.
#pragma once

#include "ptx/lane.cuh"
#include "ptx/wgmma.cuh"

namespace tilewright::cuda {

/// Rows a thread sees in a 64-row fragment: two, eight apart.
inline constexpr int kRowsPerThread = 2;
/// Rows of one warpgroup's matrix instruction.
inline constexpr int kWarpgroupRows = 64;

/// The thread's place inside its warpgroup.
struct FragmentLane {
  i32 first_row;     ///< row of row slot 0; slot s lies 8 * s below
  i32 first_column;  ///< column of element 0

  static __device__ __forceinline__ FragmentLane of_thread() {
    const u32 thread = ptx::thread_in_block() % 128;
    return {static_cast<i32>(thread / 32 * 16 + thread % 32 / 4), static_cast<i32>(thread % 4 * 2)};
  }
};

/// 64 x kColumns values, kColumns / 2 in each thread.
template <int kColumns>
struct Accumulator {
  static constexpr int kElements = kColumns / 2;
  float value[kElements];

  /// Which of the thread's rows element e lies in.
  static constexpr __device__ int row_slot(int e) { return e / 2 % 2; }
  /// How many of the thread's elements of the same row come before element e.
  static constexpr __device__ int order_in_row(int e) { return e / 4 * 2 + e % 2; }
  /// Column of element e relative to the thread's first column.
  static constexpr __device__ int column_offset(int e) { return e / 4 * 8 + e % 2; }

  static __device__ __forceinline__ i32 row(FragmentLane lane, int e) {
    return lane.first_row + 8 * row_slot(e);
  }
  static __device__ __forceinline__ i32 column(FragmentLane lane, int e) {
    return lane.first_column + column_offset(e);
  }

  /// How many of the thread's columns in a row are smaller than `bound`, which may lie outside the
  /// tile.
  static __device__ __forceinline__ i32 columns_below(FragmentLane lane, i32 bound) {
    const i32 inside = min(max(bound, 0), kColumns);
    return inside / 8 * 2 + min(max(inside % 8 - lane.first_column, 0), 2);
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int e = 0; e < kElements; ++e) value[e] = 0.0f;
  }

  /// Zeros in the thread's rows that lie `rows` or more below its first one.
  __device__ __forceinline__ void clear_rows_from(i32 rows) {
#pragma unroll
    for (int e = 0; e < kElements; ++e) value[e] = 8 * row_slot(e) < rows ? value[e] : 0.0f;
  }

  /// Keeps the compiler from moving uses of the values across this point while matrix instructions
  /// run.
  __device__ __forceinline__ void pin() {
#pragma unroll
    for (int e = 0; e < kElements; ++e) ptx::pin(value[e]);
  }

  /// The next matrix instruction overwrites the values.
  __device__ __forceinline__ void forget() {
#pragma unroll
    for (int e = 0; e < kElements; ++e) ptx::forget(value[e]);
  }
};

}  // namespace tilewright::cuda
