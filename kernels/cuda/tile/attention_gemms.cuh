// The two products of a key tile, as chains of matrix instructions that are issued here and waited
// for by the caller.
#pragma once

#include "tile/accumulator.cuh"
#include "tile/shared_tile.cuh"

namespace tilewright::cuda {

/// Issues score = query key^T: query [64, E] and key [kColumns, E] in shared memory.
template <class Element, int kHeadDim, int kColumns>
__device__ __forceinline__ void issue_score_gemm(Accumulator<kColumns>& score,
                                                 ptx::SharedAddress query, ptx::SharedAddress key) {
  using QueryTile = SharedTile<kWarpgroupRows, kHeadDim>;
  using KeyTile = SharedTile<kColumns, kHeadDim>;
  const u64 a = QueryTile::k_along_columns(query);
  const u64 b = KeyTile::k_along_columns(key);
#pragma unroll
  for (int step = 0; step < (kHeadDim + 15) / 16; ++step) {
    ptx::Wgmma<kColumns>::shared_by_columns(Element{}, score.value,
                                            a + QueryTile::column_step(step),
                                            b + KeyTile::column_step(step), step > 0);
  }
}

/// Issues out += probability value: probability [64, kRows] as A fragments in registers, value
/// [kRows, Ev] in shared memory.
template <class Element, int kRows, int kValueDim>
__device__ __forceinline__ void issue_value_gemm(Accumulator<kValueDim>& out,
                                                 const u32 (&probability)[kRows / 4],
                                                 ptx::SharedAddress value) {
  using ValueTile = SharedTile<kRows, kValueDim>;
  const u64 b = ValueTile::k_along_rows(value);
#pragma unroll
  for (int step = 0; step < kRows / 16; ++step) {
    ptx::Wgmma<kValueDim>::registers_by_rows(Element{}, out.value, &probability[4 * step],
                                             b + ValueTile::row_step(step), 1);
  }
}

}  // namespace tilewright::cuda
