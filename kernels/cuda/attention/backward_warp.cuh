// Where a warp of the portable backward family works: which keys, which columns, which stage.
#pragma once

#include "attention/portable_backward_layout.cuh"

namespace tilewright::cuda {

template <class Variant>
struct BackwardWarp {
  using Layout = PortableBackwardLayout<Variant>;

  u32 lane;
  i32 key_warp;
  i32 column_warp;
  u32 step = ~0u;  ///< of the query tile worked on, from 0

  /// The lane, of which the compiler knows nothing: addresses that depend on it are computed where
  /// they are used, not kept in registers from tile to tile.
  __device__ __forceinline__ u32 here() const { return ptx::forgotten(lane); }
  /// Of the block's keys.
  __device__ __forceinline__ i32 first_key() const { return key_warp * Layout::kWarpKeys; }
  __device__ __forceinline__ u32 query_stage() const { return step % Layout::kQueryStages; }
  __device__ __forceinline__ u32 grad_stage() const { return step % Layout::kGradStages; }
};

}  // namespace tilewright::cuda
