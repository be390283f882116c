// What variants of the Hopper backward need that walk span lists or read key lengths on the device.
#pragma once

#include "attention/backward_params.cuh"
#include "attention/key_lengths.cuh"
#include "attention/query_cut.cuh"
#include "attention/span_lists.cuh"

namespace tilewright::cuda {

/// The host fills it; src/backends/cuda/launch/backward_params.h mirrors it.
struct BackwardExtension {
  SpanLists lists;             ///< of variants that walk them
  KeyLengths lengths;          ///< of variants that read them, with
  const ptx::TensorMap* keys;  ///< a map of the keys for each of their batches, which ends where
                               ///< the last key is that any batch of queries has
  QueryCut cut;                ///< of the query rows into tiles
  i32 reserved;
};

/// The end of an item's keys that a batch of queries has.
template <bool kReadsLengths>
__device__ __forceinline__ i32 live_end(const BackwardExtension* extension,
                                        const BackwardItem& item, i32 batch) {
  if constexpr (kReadsLengths) {
    return extension->lengths.keys(batch, item.kv_end);
  } else {
    return item.kv_end;
  }
}

/// The first parameter of such variants.
struct ExtendedBackwardParams {
  BackwardParams backward;
  BackwardExtension extension;
};

}  // namespace tilewright::cuda
