// The end of an item: dK = scale * products and dV, each straight from registers to global memory,
// or as fp32 partial results in the order of fragments where the call has memory for these.
#pragma once

#include "attention/backward_layout.cuh"
#include "attention/backward_params.cuh"
#include "attention/gradient_rows.cuh"
#include "ptx/vector_memory.cuh"

namespace tilewright::cuda {

template <int kColumns>
__device__ __forceinline__ void store_fragment_sums(const Accumulator<kColumns>& d, float* tile,
                                                    u32 warpgroup) {
  const u32 thread = ptx::thread_in_block() % 128;
  float* const to = tile + warpgroup * 128 * d.kElements + thread * 4;
#pragma unroll
  for (int e = 0; e < d.kElements; e += 4) {
    ptx::store(to + e * 128, {d.value[e], d.value[e + 1], d.value[e + 2], d.value[e + 3]});
  }
}

template <class Variant>
struct KeyGradientStore {
  using Layout = BackwardLayout<Variant>;
  using Element = typename Variant::Element;

  const BackwardParams& params;
  u32 warpgroup;
  i32 first_row;  ///< of the thread in the key tile

  __device__ __forceinline__ void store(const BackwardItem& item,
                                        const Accumulator<Layout::kKeyColumns>& d_key,
                                        const Accumulator<Layout::kValueColumns>& d_value) const {
    const i64 tile = sums_tile(item);
    if (params.d_key_sums != nullptr) {
      store_fragment_sums(d_key, params.d_key_sums + tile * Layout::kKeySumFloats, warpgroup);
    } else {
      GradientRows key = rows(item, params.d_key, params.d_key_strides, kKey);
      key.factor = params.scale;
      store_gradient_rows<Element>(d_key, key);
    }
    if (params.d_value_sums != nullptr) {
      store_fragment_sums(d_value, params.d_value_sums + tile * Layout::kValueSumFloats, warpgroup);
    } else {
      store_gradient_rows<Element>(d_value,
                                   rows(item, params.d_value, params.d_value_strides, kValue));
    }
  }

 private:
  struct Columns {
    i32 all;
    i32 own;  ///< in a fragment
  };
  static constexpr Columns kKey = {Variant::kHeadDim, Layout::kKeyColumns};
  static constexpr Columns kValue = {Variant::kValueDim, Layout::kValueColumns};

  __device__ __forceinline__ i64 sums_tile(const BackwardItem& item) const {
    const Extents& x = params.extents;
    const i32 kv_heads = x.query_heads / x.group_heads;
    const i64 head =
        (static_cast<i64>(item.part) * x.kv_batches + item.kv_batch) * kv_heads + item.kv_head;
    return head * params.schedule.kv_tiles + item.kv_begin / Layout::kKeyTile;
  }

  __device__ __forceinline__ GradientRows rows(const BackwardItem& item, void* to,
                                               const GradientStrides& strides,
                                               Columns columns) const {
    const i32 first_column = Layout::kSplitsKeys ? 0 : static_cast<i32>(warpgroup) * columns.own;
    u16* const head = static_cast<u16*>(to) + item.kv_batch * strides.batch +
                      item.kv_head * strides.head + first_column;
    return {.head = to == nullptr ? nullptr : head,
            .row_stride = strides.row,
            .first_row = item.kv_begin + first_row,
            .end_row = item.kv_end,
            .columns = min(max(columns.all - first_column, 0), columns.own),
            .factor = 1.0f};
  }
};

}  // namespace tilewright::cuda
