// A query tile in a stage of the Hopper ring, as the arithmetic of tile_gradients.cuh sees it.
#pragma once

#include "attention/backward_layout.cuh"
#include "attention/live_pairs.cuh"

namespace tilewright::cuda {

/// What the producer said of the tile, and its queries' numbers.
template <bool kSeesKeyWords>
struct TileSite {
  const QueryNote& note;
  const TileKeys& keys;  ///< not there where they are not seen
  const BackwardItem& item;
  ptx::SharedAddress minus_lse;
  ptx::SharedAddress delta;

  __device__ __forceinline__ i32 q_begin() const {
    if constexpr (kSeesKeyWords) {
      return keys.q_begin;
    } else {
      return note.q_begin;
    }
  }
  __device__ __forceinline__ bool partial() const { return note.partial(); }
  __device__ __forceinline__ auto bounds() const {
    if constexpr (kSeesKeyWords) {
      return LiveKeys{keys.words, item.kv_begin};
    } else {
      return LiveBounds{0, item.kv_end, true};
    }
  }
};

}  // namespace tilewright::cuda
