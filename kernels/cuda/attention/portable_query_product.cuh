// dQ = dS K of a query tile in the portable backward family, divided by rows and columns between
// the warps, and added up in memory.
#pragma once

#include "attention/backward_warp.cuh"
#include "attention/query_turn.cuh"
#include "tile/transposed_products.cuh"

namespace tilewright::cuda {

template <class Variant>
struct PortableQueryProduct {
  using Layout = PortableBackwardLayout<Variant>;
  using Element = typename Variant::Element;
  using KeyTile = typename Layout::KeyTile;
  using Cells = GradientCells<Layout::kQueryTile, Variant::kHeadTile>;
  static constexpr int kElement = KeyTile::kElement;
  static constexpr int kColumns = Layout::kSumPass;
  using Keys = RowTilePart<KeyTile, Layout::kKeyTile, kColumns>;
  using Sums = Accumulator<kColumns>;

  const PortableBackwardParams& params;
  const Layout& layout;
  const BackwardWarp<Variant>& warp;

  /// As many columns at a time as registers last for.
  __device__ __forceinline__ void add(const QueryVisit& visit,
                                      QueryTurn<Variant::kDeterministic>& turn) const {
    const i32 index = warp.key_warp * Layout::kColumnWarps + warp.column_warp;
    const i32 row_group = index % Layout::kSumRowWarps * Variant::kSumStrips;
    const i32 first_column = index / Layout::kSumRowWarps * Layout::kSumColumns;
    const i64 tile = static_cast<i64>(visit.stream) * params.q_tiles + visit.tile;
    float* const to = params.d_query_sums + tile * Cells::kFloats;
#pragma unroll 1
    for (i32 column = first_column; column < first_column + Layout::kSumColumns;
         column += kColumns) {
      Sums sums[Variant::kSumStrips];
      transposed_product<Element, typename Layout::ScoreTile, Keys>(
          sums, layout.d_score() + row_group * 16 * kElement, layout.key() + column * kElement,
          warp.here());
      if (column == first_column) turn.await(params.turns, tile, visit);
      add_sums(sums, to, row_group, column / 8);
    }
  }

 private:
  __device__ __forceinline__ void add_sums(const Sums (&sums)[Variant::kSumStrips], float* to,
                                           i32 row_group, i32 column_group) const {
    const u32 lane = warp.here();
#pragma unroll
    for (int s = 0; s < Variant::kSumStrips; ++s) {
#pragma unroll
      for (int group = 0; group < kColumns / 8; ++group) {
        add_to_cell(Cells::cell(to, row_group + s, column_group + group), lane,
                    sums[s].value + 4 * group);
      }
    }
  }
};

}  // namespace tilewright::cuda
