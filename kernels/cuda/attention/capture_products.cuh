// S and dP of a tile for the kernel of captured gradients, from operands that lie in shared memory
// whole, or pass through it a slab of columns after the other where they do not fit.
#pragma once

#include "attention/capture_copies.cuh"
#include "tile/warp_products.cuh"

namespace tilewright::cuda {

/// Keys [begin, end) against the query rows of a stream.
struct CaptureTile {
  i32 begin;
  i32 end;
};

template <class Variant>
struct CaptureProducts {
  using Layout = CaptureLayout<Variant>;
  using Element = typename Variant::Element;
  using QueryTile = typename Layout::QueryTile;
  using GradTile = typename Layout::GradTile;
  using KeyTile = typename Layout::KeyTile;
  using ValueTile = typename Layout::ValueTile;
  using Score = Accumulator<Layout::kKeyTile>;
  /// delta cancels most of dP, which must keep fp32 accuracy all the same.
  static constexpr bool kIsF32 = kIsFloat<Element>;

  CaptureCopies<Variant> copies;
  u32 warp, lane;

  /// What the queries bring, before the first tile of a stream.
  __device__ __forceinline__ void load_queries() const {
    if constexpr (!Layout::kInSlabs) {
      copies.query(0);
      copies.d_out(0);
    }
  }

  /// Called by the whole block, which is done with the tile before.
  __device__ __forceinline__ void make(const CaptureTile& tile, Score& score,
                                       Score& d_probability) const {
    if constexpr (Layout::kInSlabs) {
      score.clear();
#pragma unroll 1
      for (i32 column = 0; column < Variant::kHeadDim; column += Variant::kSlabColumns) {
        if (column != 0) ptx::sync_block();
        copies.query(column);
        copies.key(tile.begin, tile.end, column);
        arrive();
        add_product<QueryTile, KeyTile, false>(score, Layout::kQueryAt, Layout::kKeyAt);
      }
      d_probability.clear();
#pragma unroll 1
      for (i32 column = 0; column < Variant::kValueDim; column += Variant::kSlabColumns) {
        ptx::sync_block();
        copies.d_out(column);
        copies.value(tile.begin, tile.end, column);
        arrive();
        add_product<GradTile, ValueTile, kIsF32>(d_probability, Layout::kGradAt, Layout::kValueAt);
      }
    } else {
      copies.key(tile.begin, tile.end, 0);
      copies.value(tile.begin, tile.end, 0);
      arrive();
      product<QueryTile, KeyTile, false>(score, Layout::kQueryAt, Layout::kKeyAt);
      product<GradTile, ValueTile, kIsF32>(d_probability, Layout::kGradAt, Layout::kValueAt);
    }
  }

 private:
  static __device__ __forceinline__ void arrive() {
    ptx::commit_copies();
    ptx::wait_copies<0>();
    ptx::sync_block();
  }

  /// Rows of this warp in `rows`, times rows of `keys`.
  template <class Rows, class Keys, bool kApart>
  __device__ __forceinline__ void product(Score& result, u32 rows_at, u32 keys_at) const {
    const Layout& layout = copies.layout;
    const ptx::SharedAddress rows =
        lane_in_16_rows<Rows>(layout.at(rows_at + warp * 16 * Rows::kRowBytes), lane);
    const auto operand = [&](int step) {
      QueryFragments<Element, Rows, 1> fragments;
      fragments.load(rows, step);
      return fragments;
    };
    Score all[1];
    score_product<Element, Keys, kApart>(all, operand,
                                         lane_in_two_by_8_rows<Keys>(layout.at(keys_at), lane));
    result = all[0];
  }

  template <class Rows, class Keys, bool kApart>
  __device__ __forceinline__ void add_product(Score& sum, u32 rows_at, u32 keys_at) const {
    Score part;
    product<Rows, Keys, kApart>(part, rows_at, keys_at);
#pragma unroll
    for (int e = 0; e < Score::kElements; ++e) sum.value[e] += part.value[e];
  }
};

}  // namespace tilewright::cuda
