// The end of an item: out = products / sum, lse = (reference + log2 sum) ln 2, straight from
// registers to global memory. The four lanes of a row exchange 2-column pieces so that each stores
// 8 contiguous elements (16 bytes).
#pragma once

#include "attention/finished_rows.cuh"
#include "attention/forward_params.cuh"
#include "tile/store_row.cuh"

namespace tilewright::cuda {

/// Stores one row of the fragment; called by all lanes, `inside` says whether the row exists.
template <class Element, int kValueDim>
__device__ __forceinline__ void store_row(const Accumulator<kValueDim>& out, int slot, float factor,
                                          u16* row, bool inside) {
  // A row without live pairs is exactly 0 whatever the products hold.
  const auto word = [&](int group) {
    const int e = 4 * group + 2 * slot;
    return factor == 0.0f ? 0u
                          : ptx::pack(Element{}, out.value[e] * factor, out.value[e + 1] * factor);
  };
  store_row_groups<kValueDim / 8>(word, row, inside ? kValueDim / 8 : 0);
}

template <class Variant>
__device__ __forceinline__ void store_item(const ForwardParams& params, const WorkItem& item,
                                           i32 row_in_item, const FinishedRows& done,
                                           const Accumulator<Variant::kValueDim>& out) {
  const OutputStrides& o = params.out_strides;
  const OutputStrides& l = params.lse_strides;
  u16* const out_head = static_cast<u16*>(params.out) + item.output_slot * o.slot +
                        item.batch * o.batch + item.head * o.head;
  const i64 lse_head = item.output_slot * l.slot + item.batch * l.batch + item.head * l.head;
#pragma unroll
  for (int slot = 0; slot < kRowsPerThread; ++slot) {
    const i32 row = item.q_begin + row_in_item + 8 * slot;
    const bool inside = row < item.q_end;
    store_row<typename Variant::Element>(out, slot, done.inverse_sum[slot], out_head + row * o.row,
                                         inside);
    if (!inside || ptx::thread_in_block() % 4 != 0) continue;
    if (params.lse != nullptr) ptx::store(params.lse + lse_head + row * l.row, done.lse[slot]);
    if constexpr (Variant::kTracksMaximum) {
      ptx::store(params.max_scores + lse_head + row * l.row, done.maximum[slot]);
    }
  }
}

}  // namespace tilewright::cuda
