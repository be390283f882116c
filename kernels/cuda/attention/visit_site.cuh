// A chunk of a query tile in shared memory, as the arithmetic of tile_gradients.cuh sees it.
#pragma once

#include "attention/live_pairs.cuh"
#include "attention/portable_backward_layout.cuh"

namespace tilewright::cuda {

/// A fragment of kColumns queries; where it begins is said by its site and by the lane.
template <int kColumns>
struct ChunkShape {
  static constexpr int kScoreColumns = kColumns;
  static constexpr int kNumbersAhead = 1;
  static constexpr __device__ i32 first_key_row(u32) { return 0; }
  static constexpr __device__ i32 first_query(u32) { return 0; }
};

struct VisitSite {
  i32 first_row;
  i32 kv_begin;
  i32 kv_end;
  u32 flags;  ///< of the visit
  ptx::SharedAddress minus_lse;
  ptx::SharedAddress delta;

  __device__ __forceinline__ i32 q_begin() const { return first_row; }
  __device__ __forceinline__ bool partial() const { return (flags & QueryVisit::kMasked) != 0; }
  __device__ __forceinline__ LiveBounds bounds() const {
    return {kv_begin, kv_end, (flags & QueryVisit::kByMask) != 0};
  }
};

}  // namespace tilewright::cuda
