// The end of a captured gradient: the copies of its sums added pairwise, in one order, and written
// in the tensor's dtype and strides.
#pragma once

#include "attention/float_tensor.cuh"
#include "ptx/lane.cuh"

namespace tilewright::cuda {

struct CaptureFinishParams {
  const float* sums;  ///< [copies, elements]; null: zeros are written
  void* gradient;
  i64 elements;
  i64 extent[16];
  i64 stride[16];  ///< in elements
  i32 rank;
  i32 copies;
  FloatKind kind;
  i32 reserved;
};

/// Copies [first, first + count) of an element, as a tree.
__device__ __forceinline__ float sum_of_copies(const float* sums, i64 elements, i32 copies) {
  if (copies == 1) return *sums;
  // What is added up so far of 2^k copies lies in part[k], as the digits of a binary number do.
  float part[12];
  for (i32 copy = 0; copy < copies; ++copy) {
    float sum = sums[copy * elements];
    int level = 0;
    for (i32 bits = copy; (bits & 1) != 0; bits >>= 1) sum = part[level++] + sum;
    part[level] = sum;
  }
  float sum = 0.0f;
  for (int level = 0; level < 12; ++level) {
    if ((copies >> level & 1) != 0) sum = part[level] + sum;
  }
  return sum;
}

/// One thread an element; grids of any size.
__device__ __forceinline__ void capture_finish(const CaptureFinishParams& params) {
  constexpr i64 kThreads = 256;
  const i64 step = kThreads * ptx::blocks_in_grid();
  for (i64 element = kThreads * ptx::block_in_grid() + ptx::thread_in_block();
       element < params.elements; element += step) {
    float sum = 0.0f;
    if (params.sums != nullptr) {
      sum = sum_of_copies(params.sums + element, params.elements, params.copies);
    }
    i64 offset = 0, left = element;
    for (i32 axis = params.rank; axis-- > 0;) {
      const i64 above = left / params.extent[axis];
      offset += (left - above * params.extent[axis]) * params.stride[axis];
      left = above;
    }
    store_float(params.gradient, params.kind, offset, sum);
  }
}

}  // namespace tilewright::cuda
