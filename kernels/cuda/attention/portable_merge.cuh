// Joins the fp32 partial outputs of split keys, in the order of the splits whatever ran first.
//
// Formula    lse = ln sum_s e^lse_s, out = sum_s e^(lse_s - lse) out_s, max = max_s max_s. A part
//            with lse -inf is left out by selection, so that one part with live pairs comes back
//            bit for bit; an lse of +inf or NaN makes the row NaN (semantics R5).
// Launch     grid (ceil(rows / 4), 1, 1) with rows = B * Hq * Q below 2^32, blocks of 128 threads,
// no shared
//            memory; a warp joins a row. Parts contiguous: [splits, B, Hq, Q, Ev] and [splits, B,
//            Hq, Q].
#pragma once

#include "attention/portable_params.cuh"
#include "ptx/global_memory.cuh"
#include "ptx/lane.cuh"
#include "tile/row_tile.cuh"

namespace tilewright::cuda {

struct MergeParams {
  const float* out_parts;
  const float* lse_parts;
  const float* max_parts;  ///< null where max_scores is null
  void* out;               ///< [B, Hq, Q, Ev] of any strides
  float* lse;              ///< [B, Hq, Q]; may be null
  float* max_scores;       ///< like lse
  SlotStrides out_strides;
  SlotStrides lse_strides;
  i32 splits;
  i32 batches;
  i32 heads;
  i32 query_rows;
  i32 value_dim;
};

/// The join of a row's statistics.
struct MergedRow {
  float lse;
  float maximum;
};

__device__ __forceinline__ MergedRow merge_statistics(const MergeParams& params, i64 row,
                                                      i64 all_rows) {
  constexpr float kLog2E = 1.44269504088896f, kLn2 = 0.693147180559945f;
  const float nothing = ptx::float_of(0xff800000u);
  float top = nothing, maximum = nothing;
  for (i32 s = 0; s < params.splits; ++s) {
    top = ptx::larger(top, ptx::load(params.lse_parts + s * all_rows + row));
    if (params.max_parts != nullptr) {
      maximum = ptx::larger(maximum, ptx::load(params.max_parts + s * all_rows + row));
    }
  }
  float sum = 0.0f;
  for (i32 s = 0; s < params.splits; ++s) {
    const float lse = ptx::load(params.lse_parts + s * all_rows + row);
    if (lse != nothing) sum += lse == top ? 1.0f : ptx::exp2_fast((lse - top) * kLog2E);
  }
  // A row of +inf keeps it; the weights e^(inf - inf) then make the row NaN.
  const bool has_infinity = top == -nothing && sum == sum;
  const float lse = has_infinity ? top : top + ptx::log2_fast(sum) * kLn2;
  return {sum == 0.0f ? nothing : lse, maximum};
}

template <class Element>
__device__ __forceinline__ void store_merged(void* out, i64 offset, float value) {
  if constexpr (kElementBytes<Element> == 4) {
    ptx::store(static_cast<float*>(out) + offset, value);
  } else {
    const u32 both = ptx::pack(Element{}, value, value);
    ptx::store(static_cast<u16*>(out) + offset, static_cast<u16>(both & 0xffffu));
  }
}

template <class Element>
__device__ __forceinline__ void portable_merge(const MergeParams& params) {
  constexpr float kLog2E = 1.44269504088896f;
  const u32 thread = ptx::thread_in_block();
  const i32 lane = static_cast<i32>(thread % 32);
  const u32 row = ptx::block_in_grid() * 4 + thread / 32;
  const i64 all_rows = static_cast<i64>(params.batches) * params.heads * params.query_rows;
  if (row >= all_rows) return;
  const MergedRow merged = merge_statistics(params, row, all_rows);
  const u32 query_rows = static_cast<u32>(params.query_rows);
  const u32 all_heads = row / query_rows;
  const i64 i = row - all_heads * query_rows;
  const i64 b = all_heads / static_cast<u32>(params.heads);
  const i64 h = all_heads % static_cast<u32>(params.heads);
  const SlotStrides& o = params.out_strides;
  const i64 to = b * o.batch + h * o.head + i * o.row;
  for (i32 column = lane; column < params.value_dim; column += 32) {
    float sum = 0.0f;
    for (i32 s = 0; s < params.splits; ++s) {
      const float lse = ptx::load(params.lse_parts + s * all_rows + row);
      if (lse == ptx::float_of(0xff800000u)) continue;
      const float weight = ptx::exp2_fast((lse - merged.lse) * kLog2E);
      const float part =
          ptx::load(params.out_parts + (s * all_rows + row) * params.value_dim + column);
      sum = ptx::fused(weight, part, sum);
    }
    store_merged<Element>(params.out, to + column * o.column, sum);
  }
  if (lane != 0) return;
  const SlotStrides& l = params.lse_strides;
  const i64 at = b * l.batch + h * l.head + i * l.row;
  if (params.lse != nullptr) ptx::store(params.lse + at, merged.lse);
  if (params.max_scores != nullptr) ptx::store(params.max_scores + at, merged.maximum);
}

}  // namespace tilewright::cuda
