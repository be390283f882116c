// How a kernel in checked mode tells the host of a fault (semantics R8, R9): one 16-byte store, so
// that whichever thread comes last leaves a whole record, made visible to the host at once.
#pragma once

#include "ptx/global_memory.cuh"

namespace tilewright::cuda {

/// 16 bytes that the host reads too; code 0 means none.
struct alignas(16) ErrorRecord {
  i32 code;     ///< 1: a live subscript left its tensor, 2: a live integer division by zero
  i32 subject;  ///< 1: the capture slot; 2: the node of the program that divides
  i64 index;    ///< 1: the subscript as written
};

__device__ __forceinline__ void report(ErrorRecord* record, i32 code, i32 subject, i64 index) {
  const u64 bits = static_cast<u64>(index);
  ptx::store(record, {static_cast<u32>(code), static_cast<u32>(subject), static_cast<u32>(bits),
                      static_cast<u32>(bits >> 32)});
  ptx::fence_system();
}

}  // namespace tilewright::cuda
