// The end of an item of the portable backward family: dK = scale * products and dV straight from
// registers to global memory of any strides, or both as fp32 partial results.
#pragma once

#include "attention/portable_backward_layout.cuh"
#include "tile/store_columns.cuh"

namespace tilewright::cuda {

/// A gradient of the keys or values: added up later where there are sums, else stored if there is a
/// gradient.
struct KeyGradient {
  void* gradient;
  float* sums;
  const TensorStrides& strides;
  i32 dim;
  i32 in_vectors;
  float factor;
};

template <class Variant>
struct PortableGradientStore {
  using Layout = PortableBackwardLayout<Variant>;
  using Element = typename Variant::Element;

  const PortableBackwardParams& params;
  const BackwardItem& item;
  i32 first_key;  ///< of the item, that the warp's first strip begins with
  i32 column_warp;
  u32 lane;

  template <int kColumns>
  __device__ __forceinline__ void store(const Accumulator<kColumns> (&d)[Variant::kStrips],
                                        const KeyGradient& to) const {
#pragma unroll
    for (int s = 0; s < Variant::kStrips; ++s) {
      if (to.sums != nullptr) {
        store_sums(d[s], to.sums, first_key / 16 + s);
      } else if (to.gradient != nullptr) {
        store_rows(d[s], to, first_key + 16 * s);
      }
    }
  }

 private:
  template <int kColumns>
  __device__ __forceinline__ void store_sums(const Accumulator<kColumns>& d, float* sums,
                                             i32 row_group) const {
    using Cells = GradientCells<Layout::kKeyTile, kColumns * Layout::kColumnWarps>;
    const Extents& x = params.extents;
    const i32 kv_heads = x.query_heads / x.group_heads;
    const i64 head =
        (static_cast<i64>(item.part) * x.kv_batches + item.kv_batch) * kv_heads + item.kv_head;
    float* const tile =
        sums +
        (head * params.schedule.kv_tiles + item.kv_begin / Layout::kKeyTile) * Cells::kFloats;
#pragma unroll
    for (int group = 0; group < kColumns / 8; ++group) {
      store_cell(Cells::cell(tile, row_group, column_warp * (kColumns / 8) + group), lane,
                 d.value + 4 * group);
    }
  }

  template <int kColumns>
  __device__ __forceinline__ void store_rows(const Accumulator<kColumns>& d, const KeyGradient& to,
                                             i32 first_row) const {
    const i32 first_column = column_warp * kColumns;
    const ColumnTarget target = {to.gradient, to.strides.column,
                                 min(to.dim - first_column, kColumns), to.in_vectors};
    const i64 head = item.kv_batch * to.strides.batch + item.kv_head * to.strides.head +
                     first_column * to.strides.column;
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      const i32 row = item.kv_begin + first_row + static_cast<i32>(lane / 4) + 8 * slot;
      ColumnStore<Element, kColumns>::run([&](int e) { return d.value[e] * to.factor; }, slot,
                                          head + row * to.strides.row, target, row < item.kv_end);
    }
  }
};

}  // namespace tilewright::cuda
