// A gradient's fragment on its way to the tensor, rounded to the element type.
#pragma once

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

}  // namespace tilewright::cuda
