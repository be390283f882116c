// Bulk tensor copies (TMA). PTX ISA: "Data Movement, cp.async.bulk.tensor".
#pragma once

#include "ptx/mbarrier.cuh"

namespace tilewright::cuda::ptx {

/// The driver's 128-byte tensor map, passed to kernels by value.
struct alignas(64) TensorMap {
  u64 opaque[16];
};

/// Coordinates in elements, innermost dimension first.
struct TensorCoordinate {
  i32 column, row, head, batch;
};

__device__ __forceinline__ void prefetch(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Copies one box of a rank-4 tensor into shared memory; `full` receives the bytes of the whole
/// box, elements outside the tensor arrive as zeros.
__device__ __forceinline__ void copy_box(SharedAddress to, const TensorMap* map,
                                         TensorCoordinate at, Mbarrier full) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4, "
      "%5, %6}], [%2];" ::"r"(to.bytes),
      "l"(map), "r"(full.address.bytes), "r"(at.column), "r"(at.row), "r"(at.head), "r"(at.batch)
      : "memory");
}

}  // namespace tilewright::cuda::ptx
