// Joins the fp32 partial outputs of split keys, in one order whatever ran first.
//
// Formula    lse = ln sum_s e^lse_s, out = sum_s e^(lse_s - lse) out_s, max = max_s max_s. A part
//            with lse -inf is left out by selection, so that one part with live pairs comes back
//            bit for bit; an lse of +inf or NaN makes the row NaN (semantics R5).
// Pipeline   threads take the statistics of a part each; then every warp adds each fourth part,
// with
//            the loads of several parts under way, and warp 0 adds the four sums.
// Tensors    parts contiguous: [splits, B, Hq, Q, Ev] and [splits, B, Hq, Q].
// Memory     shared: the parts' weights and three sums of 128 columns, 6 KB.
// Launch     a block of 128 threads a row: grid (B * Hq * Q, 1, 1), below 2^31; at most kMostParts.
#pragma once

#include "attention/portable_params.cuh"
#include "ptx/global_memory.cuh"
#include "ptx/lane.cuh"
#include "ptx/named_barrier.cuh"
#include "tile/row_tile.cuh"

namespace tilewright::cuda {

/// The host fills it; src/backends/cuda/launch/merge_launch.h mirrors it.
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

template <class Element>
struct RowMerge {
  static constexpr i32 kMostParts = 1024;
  static constexpr i32 kThreads = 128;
  static constexpr i32 kWarps = kThreads / 32;
  static constexpr i32 kColumnsOfLane = 4;
  static constexpr i32 kColumns = 32 * kColumnsOfLane;
  static constexpr float kLog2E = 1.44269504088896f;

  struct Shared {
    float weight[kMostParts];
    float sum[kWarps - 1][kColumns];
    float of_warp[kWarps];
  };

  const MergeParams& params;
  Shared& shared;
  i64 row;
  i64 all_rows;
  i32 thread;

  __device__ __forceinline__ void run() const {
    const float nothing = ptx::float_of(0xff800000u);
    float top = nothing, maximum = nothing;
    for (i32 s = thread; s < params.splits; s += kThreads) {
      top = ptx::larger(top, ptx::load(params.lse_parts + s * all_rows + row));
      if (params.max_parts != nullptr) {
        maximum = ptx::larger(maximum, ptx::load(params.max_parts + s * all_rows + row));
      }
    }
    top = of_all(top, [](float a, float b) { return ptx::larger(a, b); });
    if (params.max_parts != nullptr) {
      maximum = of_all(maximum, [](float a, float b) { return ptx::larger(a, b); });
    }
    const float lse = join_statistics(top);
    weigh(lse);
    ptx::sync_block();
    store_columns();
    if (thread == 0) store_statistics(lse, maximum);
  }

 private:
  /// The join of a value of each thread, in every thread.
  template <class Join>
  __device__ __forceinline__ float of_all(float value, Join join) const {
    value = join(value, ptx::shuffle_xor<16>(value));
    value = join(value, ptx::shuffle_xor<8>(value));
    value = join(value, ptx::shuffle_xor<4>(value));
    value = join(value, ptx::shuffle_xor<2>(value));
    value = join(value, ptx::shuffle_xor<1>(value));
    ptx::sync_block();
    if (thread % 32 == 0) shared.of_warp[thread / 32] = value;
    ptx::sync_block();
    return join(join(shared.of_warp[0], shared.of_warp[1]),
                join(shared.of_warp[2], shared.of_warp[3]));
  }

  __device__ __forceinline__ float join_statistics(float top) const {
    const float nothing = ptx::float_of(0xff800000u);
    constexpr float kLn2 = 0.693147180559945f;
    float sum = 0.0f;
    for (i32 s = thread; s < params.splits; s += kThreads) {
      const float lse = ptx::load(params.lse_parts + s * all_rows + row);
      if (lse != nothing) sum += lse == top ? 1.0f : ptx::exp2_fast((lse - top) * kLog2E);
    }
    sum = of_all(sum, [](float a, float b) { return a + b; });
    // A row of +inf keeps it; the weights e^(inf - inf) then make the row NaN.
    const bool has_infinity = top == -nothing && sum == sum;
    const float lse = has_infinity ? top : top + ptx::log2_fast(sum) * kLn2;
    return sum == 0.0f ? nothing : lse;
  }

  /// 0 for a part without live pairs, whatever it holds.
  __device__ __forceinline__ void weigh(float of_row) const {
    for (i32 s = thread; s < params.splits; s += kThreads) {
      const float lse = ptx::load(params.lse_parts + s * all_rows + row);
      const bool empty = lse == ptx::float_of(0xff800000u);
      shared.weight[s] = empty ? 0.0f : ptx::exp2_fast((lse - of_row) * kLog2E);
    }
  }

  __device__ __forceinline__ void store_columns() const {
    const u32 query_rows = static_cast<u32>(params.query_rows);
    const u32 all_heads = static_cast<u32>(row) / query_rows;
    const i64 i = row - static_cast<i64>(all_heads) * query_rows;
    const SlotStrides& o = params.out_strides;
    const i64 to = all_heads / static_cast<u32>(params.heads) * o.batch +
                   all_heads % static_cast<u32>(params.heads) * o.head + i * o.row;
    for (i32 first = 0; first < params.value_dim; first += kColumns) {
      float sum[kColumnsOfLane];
      add_parts(first, sum);
      if (!add_warps(sum)) continue;
#pragma unroll
      for (i32 k = 0; k < kColumnsOfLane; ++k) {
        const i32 column = first + thread + 32 * k;
        if (column < params.value_dim) store(to + column * o.column, sum[k]);
      }
    }
  }

  /// Each fourth part, of columns first + lane + 32 k.
  __device__ __forceinline__ void add_parts(i32 first, float (&sum)[kColumnsOfLane]) const {
    const i32 column = first + thread % 32;
#pragma unroll
    for (i32 k = 0; k < kColumnsOfLane; ++k) sum[k] = 0.0f;
#pragma unroll 4
    for (i32 s = thread / 32; s < params.splits; s += kWarps) {
      const float weight = shared.weight[s];
      const float* const part = params.out_parts + (s * all_rows + row) * params.value_dim;
#pragma unroll
      for (i32 k = 0; k < kColumnsOfLane; ++k) {
        const bool there = column + 32 * k < params.value_dim && weight != 0.0f;
        const float value = there ? ptx::load(part + column + 32 * k) : 0.0f;
        sum[k] = ptx::fused(weight, value, sum[k]);
      }
    }
  }

  /// Warp 0 gets the sum over the warps; true there.
  __device__ __forceinline__ bool add_warps(float (&sum)[kColumnsOfLane]) const {
    const i32 warp = thread / 32, lane = thread % 32;
    ptx::sync_block();
#pragma unroll
    for (i32 k = 0; k < kColumnsOfLane; ++k) {
      if (warp != 0) shared.sum[warp - 1][lane + 32 * k] = sum[k];
    }
    ptx::sync_block();
    if (warp != 0) return false;
#pragma unroll
    for (i32 k = 0; k < kColumnsOfLane; ++k) {
      for (i32 w = 0; w < kWarps - 1; ++w) sum[k] += shared.sum[w][lane + 32 * k];
    }
    return true;
  }

  __device__ __forceinline__ void store(i64 offset, float value) const {
    if constexpr (kElementBytes<Element> == 4) {
      ptx::store(static_cast<float*>(params.out) + offset, value);
    } else {
      const u32 both = ptx::pack(Element{}, value, value);
      ptx::store(static_cast<u16*>(params.out) + offset, static_cast<u16>(both & 0xffffu));
    }
  }

  __device__ __forceinline__ void store_statistics(float lse, float maximum) const {
    const u32 query_rows = static_cast<u32>(params.query_rows);
    const u32 all_heads = static_cast<u32>(row) / query_rows;
    const SlotStrides& l = params.lse_strides;
    const i64 at = all_heads / static_cast<u32>(params.heads) * l.batch +
                   all_heads % static_cast<u32>(params.heads) * l.head +
                   (row - static_cast<i64>(all_heads) * query_rows) * l.row;
    if (params.lse != nullptr) ptx::store(params.lse + at, lse);
    if (params.max_scores != nullptr) ptx::store(params.max_scores + at, maximum);
  }
};

/// The body of a kernel.
template <class Element>
__device__ __forceinline__ void portable_merge(const MergeParams& params) {
  using Merge = RowMerge<Element>;
  __shared__ typename Merge::Shared shared;
  const i64 all_rows = static_cast<i64>(params.batches) * params.heads * params.query_rows;
  Merge{params, shared, static_cast<i64>(ptx::block_in_grid()), all_rows,
        static_cast<i32>(ptx::thread_in_block())}
      .run();
}

}  // namespace tilewright::cuda
