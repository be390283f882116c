// The four lanes that share the rows of a fragment: sums over them, and exchanges that turn their
// 2-column pieces into 8 contiguous columns.
#pragma once

#include "ptx/global_memory.cuh"
#include "ptx/lane.cuh"

namespace tilewright::cuda {

__device__ __forceinline__ float sum_over_quad(float value) {
  value += ptx::shuffle_xor<1>(value);
  return value + ptx::shuffle_xor<2>(value);
}

/// Lane t of a quad gives word j of its four words to lane j and receives word t of lane j.
__device__ __forceinline__ ptx::Words4 transpose_in_quad(ptx::Words4 w, u32 t) {
  const bool odd = t & 1, high = t & 2;
  const u32 swap_xy = ptx::shuffle_xor<1>(odd ? w.x : w.y);
  const u32 swap_zw = ptx::shuffle_xor<1>(odd ? w.z : w.w);
  const ptx::Words4 pairs = {odd ? swap_xy : w.x, odd ? w.y : swap_xy, odd ? swap_zw : w.z,
                             odd ? w.w : swap_zw};
  const u32 swap_xz = ptx::shuffle_xor<2>(high ? pairs.x : pairs.z);
  const u32 swap_yw = ptx::shuffle_xor<2>(high ? pairs.y : pairs.w);
  return {high ? swap_xz : pairs.x, high ? swap_yw : pairs.y, high ? pairs.z : swap_xz,
          high ? pairs.w : swap_yw};
}

}  // namespace tilewright::cuda
