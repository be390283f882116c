// A query tile in a stage of the Hopper ring, as the arithmetic of tile_gradients.cuh sees it.
#pragma once

#include "attention/backward_layout.cuh"
#include "attention/live_pairs.cuh"

namespace tilewright::cuda {

/// What the producer said of the tile, and its queries' numbers.
struct TileSite {
  const QueryNote& note;
  const BackwardItem& item;
  ptx::SharedAddress minus_lse;
  ptx::SharedAddress delta;

  __device__ __forceinline__ i32 q_begin() const { return note.q_begin; }
  __device__ __forceinline__ bool partial() const { return note.partial(); }
  __device__ __forceinline__ LiveBounds bounds() const { return {0, item.kv_end, true}; }
};

}  // namespace tilewright::cuda
