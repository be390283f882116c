// The end of an item in the portable family: out = products / sum, lse and max_scores, straight
// from registers to global memory of any strides.
#pragma once

#include "attention/finished_rows.cuh"
#include "attention/portable_item.cuh"
#include "attention/portable_layout.cuh"

namespace tilewright::cuda {

template <class Variant>
struct PortableStore {
  using Element = typename Variant::Element;
  static constexpr bool kStoresFloat = Variant::kPartialOut || kElementBytes<Element> == 4;
  using Out = Accumulator<Variant::kValueTile>;

  const PortableParams& params;
  const ItemRows<Variant::kPacksGroup>& rows;
  i32 first_column;  ///< of Ev, that this block computes
  i32 columns;

  /// Stores the two rows of a strip that a thread holds; called by the whole warp. `first_row` is
  /// the row of slot 0.
  __device__ __forceinline__ void strip(const Out& out, const FinishedRows& done,
                                        i32 first_row) const {
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      const i32 row = first_row + 8 * slot;
      const bool inside = row < rows.item.q_end;
      const QueryRow at = rows.at(inside ? row : rows.item.q_end - 1);
      const SlotStrides& o = params.out_strides;
      const i64 offset = rows.item.output_slot * o.slot + rows.item.batch * o.batch +
                         at.head * o.head + at.position * o.row + first_column * o.column;
      store_columns(out, slot, done.inverse_sum[slot], offset, inside);
      if (inside && first_column == 0 && ptx::thread_in_block() % 4 == 0) {
        store_statistics(at, done, slot);
      }
    }
  }

 private:
  __device__ __forceinline__ void store_statistics(QueryRow at, const FinishedRows& done,
                                                   int slot) const {
    const SlotStrides& l = params.lse_strides;
    const i64 offset = rows.item.output_slot * l.slot + rows.item.batch * l.batch +
                       at.head * l.head + at.position * l.row;
    if (params.lse != nullptr) ptx::store(params.lse + offset, done.lse[slot]);
    if constexpr (Variant::kTracksMaximum) {
      if (params.max_scores != nullptr) {
        ptx::store(params.max_scores + offset, done.maximum[slot]);
      }
    }
  }

  /// A row without live pairs is exactly 0 whatever the products hold.
  static __device__ __forceinline__ float finished(const Out& out, int e, float factor) {
    return factor == 0.0f ? 0.0f : out.value[e] * factor;
  }

  __device__ __forceinline__ void store_columns(const Out& out, int slot, float factor, i64 offset,
                                                bool inside) const {
    if constexpr (kStoresFloat) {
      store_floats(out, slot, factor, static_cast<float*>(params.out) + offset, inside);
    } else {
      u16* const row = static_cast<u16*>(params.out) + offset;
      if (params.out_in_vectors != 0) {
        store_vectors(out, slot, factor, row, inside);
      } else {
        store_halves(out, slot, factor, row, inside);
      }
    }
  }

  __device__ __forceinline__ void store_floats(const Out& out, int slot, float factor, float* row,
                                               bool inside) const {
    const i32 own = static_cast<i32>(ptx::thread_in_block()) % 4 * 2;
    const i64 stride = params.out_strides.column;
#pragma unroll
    for (int group = 0; group < Variant::kValueTile / 8; ++group) {
      const int e = 4 * group + 2 * slot;
      const i32 column = 8 * group + own;
      const float first = finished(out, e, factor), second = finished(out, e + 1, factor);
      if (!inside || column >= columns) continue;
      if (params.out_in_vectors != 0) {
        ptx::store(row + column, first, second);
      } else {
        ptx::store(row + column * stride, first);
        if (column + 1 < columns) ptx::store(row + (column + 1) * stride, second);
      }
    }
  }

  __device__ __forceinline__ void store_vectors(const Out& out, int slot, float factor, u16* row,
                                                bool inside) const {
    constexpr int kGroups = Variant::kValueTile / 8;
    const i32 t = static_cast<i32>(ptx::thread_in_block()) % 4;
#pragma unroll
    for (int first = 0; first < kGroups; first += 4) {
      u32 word[4];
#pragma unroll
      for (int g = 0; g < 4; ++g) {
        const int e = 4 * min(first + g, kGroups - 1) + 2 * slot;
        word[g] = ptx::pack(Element{}, finished(out, e, factor), finished(out, e + 1, factor));
      }
      const ptx::Words4 mine =
          transpose_in_quad({word[0], word[1], word[2], word[3]}, static_cast<u32>(t));
      if (inside && (first + t) * 8 < columns) ptx::store(row + (first + t) * 8, mine);
    }
  }

  __device__ __forceinline__ void store_halves(const Out& out, int slot, float factor, u16* row,
                                               bool inside) const {
    const i32 own = static_cast<i32>(ptx::thread_in_block()) % 4 * 2;
    const i64 stride = params.out_strides.column;
#pragma unroll
    for (int group = 0; group < Variant::kValueTile / 8; ++group) {
      const int e = 4 * group + 2 * slot;
      const i32 column = 8 * group + own;
      const u32 both = ptx::pack(Element{}, finished(out, e, factor), finished(out, e + 1, factor));
      if (!inside || column >= columns) continue;
      ptx::store(row + column * stride, static_cast<u16>(both & 0xffffu));
      if (column + 1 < columns) {
        ptx::store(row + (column + 1) * stride, static_cast<u16>(both >> 16));
      }
    }
  }
};

}  // namespace tilewright::cuda
