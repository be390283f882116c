// Chains of matrix instructions by the way their operands lie; issued here, waited for by the
// caller. a and b are descriptors of SharedTile.
#pragma once

#include "tile/accumulator.cuh"
#include "tile/shared_tile.cuh"

namespace tilewright::cuda {

/// The descriptor `distance` behind this one: an addition in its low word, which no carry leaves.
__device__ __forceinline__ u64 behind(u64 descriptor, u64 distance) {
  const u32 low = static_cast<u32>(descriptor) + static_cast<u32>(distance);
  return (descriptor >> 32 << 32) | low;
}

/// d = a b^T with the summed dimension along the columns of both tiles.
template <class Element, class ATile, class BTile, int kDepth, int kColumns>
__device__ __forceinline__ void issue_by_columns(Accumulator<kColumns>& d, u64 a, u64 b) {
#pragma unroll
  for (int step = 0; step < (kDepth + 15) / 16; ++step) {
    ptx::Wgmma<kColumns>::shared_by_columns(Element{}, d.value, behind(a, ATile::column_step(step)),
                                            behind(b, BTile::column_step(step)), step > 0);
  }
}

/// d = a^T b (kARows) or a b, or the same added to d, with the summed dimension along the rows of b
/// and along the rows of a or its columns.
template <class Element, class ATile, class BTile, int kDepth, bool kARows, bool kAdds,
          int kColumns>
__device__ __forceinline__ void issue_by_rows(Accumulator<kColumns>& d, u64 a, u64 b) {
#pragma unroll
  for (int step = 0; step < kDepth / 16; ++step) {
    const u64 a_step = kARows ? ATile::row_step(step) : ATile::column_step(step);
    ptx::Wgmma<kColumns>::template shared_by_rows<kARows ? 1 : 0>(
        Element{}, d.value, behind(a, a_step), behind(b, BTile::row_step(step)), kAdds || step > 0);
  }
}

/// d += a b, a as fragments in registers, four words a 16-column step.
template <class Element, class BTile, int kDepth, int kColumns>
__device__ __forceinline__ void issue_registers_by_rows(Accumulator<kColumns>& d,
                                                        const u32 (&a)[kDepth / 4], u64 b) {
#pragma unroll
  for (int step = 0; step < kDepth / 16; ++step) {
    ptx::Wgmma<kColumns>::registers_by_rows(Element{}, d.value, &a[4 * step],
                                            behind(b, BTile::row_step(step)), 1);
  }
}

}  // namespace tilewright::cuda
