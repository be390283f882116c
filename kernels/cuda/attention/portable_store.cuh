// The end of an item in the portable family: out = products / sum, lse and max_scores, straight
// from registers to global memory of any strides.
#pragma once

#include "attention/finished_rows.cuh"
#include "attention/portable_item.cuh"
#include "attention/portable_layout.cuh"
#include "tile/store_columns.cuh"

namespace tilewright::cuda {

template <class Variant>
struct PortableStore {
  using Element = typename Variant::Element;
  using Stored = StoredAs<Element, Variant::kPartialOut>;
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
      const float factor = done.inverse_sum[slot];
      ColumnStore<Stored, Variant::kValueTile>::run(
          [&](int e) { return finished(out, e, factor); }, slot, offset,
          ColumnTarget{params.out, o.column, columns, params.out_in_vectors}, inside);
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
};

}  // namespace tilewright::cuda
