// Gradients added up in fp32 in memory. A tile's sums are cells of 16 rows by 8 columns, a warp's
// fragment each; cells of the same columns follow each other row group by row group. What a thread
// adds to is what a thread of the finishing kernel reads.
#pragma once

#include "ptx/lane.cuh"
#include "ptx/vector_memory.cuh"

namespace tilewright::cuda {

inline constexpr int kCellFloats = 16 * 8;

/// Of a tile of kRows x kColumns. A cell of const or mutable floats.
template <int kRows, int kColumns>
struct GradientCells {
  static constexpr int kRowGroups = kRows / 16;
  static constexpr i64 kFloats = static_cast<i64>(kRows) * kColumns;

  template <class Float>
  static __device__ __forceinline__ Float* cell(Float* tile, i32 row_group, i32 column_group) {
    return tile + (column_group * kRowGroups + row_group) * kCellFloats;
  }
};

/// The four values of a lane in a cell, in the order of an accumulator. sm_90 adds them at once;
/// before that a warp adds 128 contiguous bytes an instruction.
__device__ __forceinline__ void add_to_cell(float* cell, u32 lane, const float* value) {
#if __CUDA_ARCH__ >= 900
  ptx::add_in_memory(cell + lane * 4, ptx::Floats4{value[0], value[1], value[2], value[3]});
#else
#pragma unroll
  for (int e = 0; e < 4; ++e) ptx::add_in_memory(cell + e * 32 + lane, value[e]);
#endif
}

__device__ __forceinline__ void store_cell(float* cell, u32 lane, const float* value) {
#if __CUDA_ARCH__ >= 900
  ptx::store(cell + lane * 4, ptx::Floats4{value[0], value[1], value[2], value[3]});
#else
#pragma unroll
  for (int e = 0; e < 4; ++e) ptx::store(cell + e * 32 + lane, value[e]);
#endif
}

__device__ __forceinline__ ptx::Floats4 load_cell(const float* cell, u32 lane) {
#if __CUDA_ARCH__ >= 900
  return ptx::load_floats(cell + lane * 4);
#else
  return {ptx::load(cell + lane), ptx::load(cell + 32 + lane), ptx::load(cell + 64 + lane),
          ptx::load(cell + 96 + lane)};
#endif
}

}  // namespace tilewright::cuda
