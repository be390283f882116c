// A row of a warp's fragment on its way to global memory of any strides and element type.
#pragma once

#include "tile/accumulator.cuh"
#include "tile/quad.cuh"
#include "tile/row_tile.cuh"

namespace tilewright::cuda {

/// What a fragment is stored as: its element type, or fp32 where it is a partial result.
template <class Element, bool kPartial>
struct StoredType {
  using Type = Element;
};
template <class Element>
struct StoredType<Element, true> {
  using Type = F32;
};
template <class Element, bool kPartial>
using StoredAs = typename StoredType<Element, kPartial>::Type;

/// Where the columns of a row go.
struct ColumnTarget {
  void* base;
  i64 stride;      ///< from one column to the next, in elements
  i32 columns;     ///< that exist, at most the fragment's
  i32 in_vectors;  ///< nonzero: stride 1, rows begin at multiples of 16 bytes, columns % 8 == 0
};

/// Stores the columns of row slot `slot` from `offset` on; value(e) is element e of the fragment,
/// finished. Called by the whole warp, `inside` telling which rows exist. Element F32 or Tf32
/// stores fp32.
template <class Element, int kColumns>
struct ColumnStore {
  static constexpr int kGroups = kColumns / 8;
  static constexpr bool kFloat = kElementBytes<Element> == 4;

  template <class Value>
  static __device__ __forceinline__ void run(const Value& value, int slot, i64 offset,
                                             const ColumnTarget& to, bool inside) {
    if constexpr (kFloat) {
      store_floats(value, slot, static_cast<float*>(to.base) + offset, to, inside);
    } else if (to.in_vectors != 0) {
      store_vectors(value, slot, static_cast<u16*>(to.base) + offset, to, inside);
    } else {
      store_halves(value, slot, static_cast<u16*>(to.base) + offset, to, inside);
    }
  }

 private:
  static __device__ __forceinline__ i32 place_in_quad() {
    return static_cast<i32>(ptx::thread_in_block() % 4);
  }

  template <class Value>
  static __device__ __forceinline__ void store_floats(const Value& value, int slot, float* row,
                                                      const ColumnTarget& to, bool inside) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int e = 4 * group + 2 * slot;
      const i32 column = 8 * group + place_in_quad() * 2;
      const float first = value(e), second = value(e + 1);
      if (!inside || column >= to.columns) continue;
      if (to.in_vectors != 0) {
        ptx::store(row + column, first, second);
      } else {
        ptx::store(row + column * to.stride, first);
        if (column + 1 < to.columns) ptx::store(row + (column + 1) * to.stride, second);
      }
    }
  }

  template <class Value>
  static __device__ __forceinline__ void store_vectors(const Value& value, int slot, u16* row,
                                                       const ColumnTarget& to, bool inside) {
    const i32 t = place_in_quad();
#pragma unroll
    for (int first = 0; first < kGroups; first += 4) {
      u32 word[4];
#pragma unroll
      for (int g = 0; g < 4; ++g) {
        const int e = 4 * (first + g < kGroups ? first + g : kGroups - 1) + 2 * slot;
        word[g] = ptx::pack(Element{}, value(e), value(e + 1));
      }
      const ptx::Words4 mine =
          transpose_in_quad({word[0], word[1], word[2], word[3]}, static_cast<u32>(t));
      if (inside && (first + t) * 8 < to.columns) ptx::store(row + (first + t) * 8, mine);
    }
  }

  template <class Value>
  static __device__ __forceinline__ void store_halves(const Value& value, int slot, u16* row,
                                                      const ColumnTarget& to, bool inside) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int e = 4 * group + 2 * slot;
      const i32 column = 8 * group + place_in_quad() * 2;
      const u32 both = ptx::pack(Element{}, value(e), value(e + 1));
      if (!inside || column >= to.columns) continue;
      ptx::store(row + column * to.stride, static_cast<u16>(both & 0xffffu));
      if (column + 1 < to.columns) {
        ptx::store(row + (column + 1) * to.stride, static_cast<u16>(both >> 16));
      }
    }
  }
};

}  // namespace tilewright::cuda
