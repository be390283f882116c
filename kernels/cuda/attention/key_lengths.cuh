// How many keys each batch has, where only the device knows: read when a kernel runs, so that a
// replayed graph reads it anew.
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda {

struct KeyLengths {
  const i32* of_batch;  ///< null: every batch has all keys
  i64 stride;           ///< in elements

  /// Between 0 and `kv_rows`, whatever the table says.
  __device__ __forceinline__ i32 keys(i32 batch, i32 kv_rows) const {
    if (of_batch == nullptr) return kv_rows;
    return max(min(of_batch[batch * stride], kv_rows), 0);
  }
};

}  // namespace tilewright::cuda
