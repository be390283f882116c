// A gradient's fragment on its way to the tensor: in vectors of the element type, or an element at
// a time in any dtype and with any strides.
#pragma once

#include "attention/float_tensor.cuh"
#include "tile/accumulator.cuh"
#include "tile/store_row.cuh"

namespace tilewright::cuda {

/// Where a fragment's rows go.
struct GradientRows {
  u16* head;  ///< the first row of the head, at the fragment's first column; null: nowhere
  i64 row_stride;
  i32 first_row;  ///< of the thread, row slot 0
  i32 end_row;
  i32 columns;  ///< that exist, from the fragment's first
  float factor;
};

template <class Element, int kColumns>
__device__ __forceinline__ void store_gradient_rows(const Accumulator<kColumns>& d,
                                                    const GradientRows& to) {
  if (to.head == nullptr) return;
#pragma unroll
  for (int slot = 0; slot < kRowsPerThread; ++slot) {
    const i32 row = to.first_row + 8 * slot;
    const auto word = [&](int group) {
      const int e = 4 * group + 2 * slot;
      return ptx::pack(Element{}, d.value[e] * to.factor, d.value[e + 1] * to.factor);
    };
    store_row_groups<kColumns / 8>(word, to.head + row * to.row_stride,
                                   row < to.end_row ? to.columns / 8 : 0);
  }
}

/// Where a fragment's elements go, one by one.
struct GradientElements {
  void* gradient;
  FloatKind kind;
  i64 head;  ///< offset of the head's first row, at the fragment's first column
  i64 row_stride;
  i64 column_stride;
  i32 first_row;     ///< of the thread, row slot 0
  i32 first_column;  ///< of the thread in a group of 8
  i32 end_row;
  i32 columns;  ///< that exist, from the fragment's first
  float factor;
};

template <int kColumns>
__device__ __forceinline__ void store_gradient_elements(const Accumulator<kColumns>& d,
                                                        const GradientElements& to) {
#pragma unroll
  for (int e = 0; e < d.kElements; ++e) {
    const i32 row = to.first_row + 8 * (e / 2 % 2);
    const i32 column = e / 4 * 8 + to.first_column + e % 2;
    if (row >= to.end_row || column >= to.columns) continue;
    store_float(to.gradient, to.kind, to.head + row * to.row_stride + column * to.column_stride,
                d.value[e] * to.factor);
  }
}

}  // namespace tilewright::cuda
