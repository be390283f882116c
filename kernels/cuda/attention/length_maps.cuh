// Tensor maps of the values (in backward of the keys), one a batch, that end where the batch's keys
// do: what lies behind a last key then arrives as zeros.
//
// Input      the map of all of them, lengths of the batches' keys
// Output     a map a batch in global memory
// Launch     a block of 32 threads a batch
#pragma once

#include "attention/key_lengths.cuh"
#include "ptx/lane.cuh"
#include "ptx/tensor_map_edit.cuh"

namespace tilewright::cuda {

/// The host fills it; src/backends/cuda/launch/length_launch.h mirrors it.
struct LengthMapParams {
  ptx::TensorMap all;
  ptx::TensorMap* maps;
  KeyLengths lengths;
  i32 kv_rows;
  i32 sharing;  ///< batches whose lengths a map is for: 1, or all, of which the longest counts
};

/// The body of a kernel.
__device__ __forceinline__ void build_length_maps(const LengthMapParams& params) {
  const u32 thread = ptx::thread_in_block();
  const i32 batch = static_cast<i32>(ptx::block_in_grid());
  ptx::TensorMap* const map = params.maps + batch;
  if (thread < 16) map->opaque[thread] = params.all.opaque[thread];
  ptx::sync_warp();
  if (thread != 0) return;
  // A map has a row at least; where there is no key its products are dropped.
  i32 keys = 0;
  for (i32 n = 0; n < params.sharing; ++n) {
    keys = max(keys, params.lengths.keys(batch * params.sharing + n, params.kv_rows));
  }
  ptx::replace_rows(map, static_cast<u32>(max(keys, 1)));
  ptx::release_tensor_maps();
}

}  // namespace tilewright::cuda
