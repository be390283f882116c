// From the operands in shared memory to P^T and dS^T of a chunk of queries against the keys of one
// warp of the portable backward family.
#pragma once

#include "attention/backward_warp.cuh"
#include "attention/tile_gradients.cuh"
#include "attention/visit_site.cuh"
#include "tile/warp_products.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods, class Gradient>
struct PortableScores {
  using Layout = PortableBackwardLayout<Variant>;
  using Element = typename Variant::Element;
  using QueryTile = typename Layout::QueryTile;
  using GradTile = typename Layout::GradTile;
  static constexpr int kStrips = Variant::kStrips;
  static constexpr int kChunk = Layout::kChunk;
  static constexpr bool kWantsScores = Variant::kWantsKey || Variant::kWantsQuery;  ///< dS
  /// Where dP must keep fp32 accuracy although delta cancels most of it.
  static constexpr bool kIsF32 = sizeof(OperandB<Element>) > sizeof(ptx::MatrixB);
  using QueryChunk = RowTilePart<QueryTile, kChunk, QueryTile::kColumns>;
  using GradChunk = RowTilePart<GradTile, kChunk, GradTile::kColumns>;
  using Score = Accumulator<kChunk>;
  using Gradients =
      TileGradients<ChunkShape<kChunk>, PortableBackwardParams, VisitSite, Mods, Gradient>;

  /// One for each strip of 16 keys.
  struct Strips {
    Gradients of[kStrips];

    static __device__ __forceinline__ Strips make(const PortableBackwardParams& params,
                                                  const typename Mods::Bindings& bindings) {
      if constexpr (kStrips == 1) {
        return {{{params, bindings, {}, 0, {}}}};
      } else {
        return {{{params, bindings, {}, 0, {}}, {params, bindings, {}, 0, {}}}};
      }
    }
  };

  const PortableBackwardParams& params;
  const Layout& layout;
  const BackwardWarp<Variant>& warp;
  Strips strips;

  __device__ __forceinline__ void start_item() {
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      strips.of[s].lane = {warp.first_key() + 16 * s + static_cast<i32>(warp.lane / 4),
                           static_cast<i32>(warp.lane % 4 * 2)};
      strips.of[s].start_item(layout.item());
    }
  }

  __device__ __forceinline__ void start_visit(const QueryVisit& visit) {
    const i32 end = params.cut.end(visit.tile, params.extents.query_rows);
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      if (visit.has(QueryVisit::kNewStream)) {
        strips.of[s].start_stream(visit.stream, live_end(visit.stream));
      }
      strips.of[s].keys.q_rows = end;
    }
  }

  /// The end of the item's keys that a stream has.
  __device__ __forceinline__ i32 live_end(i32 stream) const {
    return params.lengths.keys(stream / params.extents.query_heads, layout.item().kv_end);
  }

  /// score := P^T and d_probability := dS^T of the chunk from `first_query` on.
  __device__ __forceinline__ void make(const QueryVisit& visit, i32 first_query,
                                       Score (&score)[kStrips],
                                       Score (&d_probability)[kStrips]) const {
    // One branch: the exponentials of whole tiles run under the products of dP.
    if (visit.has(QueryVisit::kMasked)) {
      make_by<true>(visit, first_query, score, d_probability);
    } else {
      make_by<false>(visit, first_query, score, d_probability);
    }
  }

 private:
  __device__ __forceinline__ VisitSite site(const QueryVisit& visit, i32 first_query) const {
    const i32 kv_begin = layout.item().kv_begin;
    return {params.cut.begin(visit.tile) + first_query,
            kv_begin + visit.kv_first(),
            kv_begin + visit.kv_last(),
            visit.flags,
            layout.minus_lse(warp.query_stage()) + first_query * 4,
            layout.delta(warp.grad_stage()) + first_query * 4};
  }

  template <bool kMasked>
  __device__ __forceinline__ void make_by(const QueryVisit& visit, i32 first_query,
                                          Score (&score)[kStrips],
                                          Score (&d_probability)[kStrips]) const {
    const VisitSite at = site(visit, first_query);
    product_of_rows<typename Layout::KeyTile, QueryChunk, false>(
        score, layout.key(), layout.query(warp.query_stage()) + first_query * QueryTile::kRowBytes);
    if constexpr (!Gradients::kNeedsScore) {
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
        strips.of[s].template to_probabilities<kMasked>(score[s], at);
      }
      if constexpr (!kWantsScores) return;
    }
    product_of_rows<typename Layout::ValueTile, GradChunk, kIsF32>(
        d_probability, layout.value(),
        layout.d_out(warp.grad_stage()) + first_query * GradTile::kRowBytes);
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      strips.of[s].template to_gradients<kMasked>(score[s], d_probability[s], at);
    }
    if constexpr (kIsF32) drop_rounding_of_lone_keys(score, d_probability);
  }

  /// A row that sees one key alone has P = 1 and dP = delta: its gradient is exactly 0, where the
  /// lse has none. In fp32 P is then 1 up to the rounding of its exponent, and what is left of
  /// dP - delta is rounding too: delta comes from `out`, whose sums had another order.
  __device__ __forceinline__ void drop_rounding_of_lone_keys(const Score (&probability)[kStrips],
                                                             Score (&d_score)[kStrips]) const {
    constexpr float kAlone = 1.0f - 0x1p-18f;
    if (params.lse_has_gradient != 0) return;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int e = 0; e < Score::kElements; ++e) {
        if (probability[s].value[e] > kAlone) d_score[s].value[e] = 0.0f;
      }
    }
  }

  /// product := rows of this warp's keys (or values) times rows of a chunk.
  template <class LeftTile, class Chunk, bool kApart>
  __device__ __forceinline__ void product_of_rows(Score (&product)[kStrips],
                                                  ptx::SharedAddress left,
                                                  ptx::SharedAddress chunk) const {
    const ptx::SharedAddress rows =
        lane_in_16_rows<LeftTile>(left + warp.first_key() * LeftTile::kRowBytes, warp.here());
    score_product<Element, Chunk, kApart>(
        product,
        [&](int step) {
          QueryFragments<Element, LeftTile, kStrips> fragments;
          fragments.load(rows, step);
          return fragments;
        },
        lane_in_two_by_8_rows<Chunk>(chunk, warp.here()));
  }
};

}  // namespace tilewright::cuda
