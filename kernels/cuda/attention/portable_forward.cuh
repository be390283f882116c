// Attention forward for sm_80 and later: warp matrix instructions and asynchronous copies. Serves
// what the Hopper family cannot: every architecture, fp32, head dims to 512, any value dim, any
// strides.
//
// Formula    S = Q K^T, T = score_mod(scale S) where mask_mod holds, else -inf, O = softmax(T) V,
// lse = ln sum e^T. Pipeline   one block an item, kWarps warps of kStrips x 16 query rows each; all
// threads copy, all warps compute:
//
//              two stages   copy K(n+1) V(n+1) | S(n), softmax(n), O += P(n) V(n)     one barrier a
//              tile
//              one stage    copy V(n) | S(n); copy K(n+1) | softmax(n), O += P V      two barriers
//              a tile
//
//            Blocks that share a multiprocessor run the softmax of one under the products of the
//            other.
// Tensors    query [B, Hq, Q, E], key [Bkv, Hkv, KV, E], value [Bkv, Hkv, KV, Ev]: bf16, fp16 or
//            fp32, global, any strides; out [slot, B, Hq, Q, Ev] same type or fp32, lse and
//            max_scores [slot, B, Hq, Q] fp32, global, from registers.
// Memory     shared: query tile, kStages x (key tile, value tile), rows padded (row_tile.cuh), a
//            page of tile notes; registers of a thread and strip: score kKeyTile / 2, out
//            kValueTile / 2, probability kKeyTile / 4.
// Barriers   the block's, once or twice a tile and twice a page of notes.
// Numbers    scores and sums fp32; P is rounded to the element type before PV (fp32: not), the row
//            sum is not; the reference of the exponent may lag the maximum by 2^8
//            (online_softmax.cuh); a row without live pairs gives 0 and -inf by selection.
#pragma once

#include "attention/portable_copies.cuh"
#include "attention/portable_search.cuh"
#include "attention/portable_softmax.cuh"
#include "attention/portable_store.cuh"
#include "ptx/named_barrier.cuh"
#include "tile/warp_products.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods>
struct PortableForward {
  using Layout = PortableLayout<Variant>;
  using Copies = PortableCopies<Variant>;
  using Element = typename Variant::Element;
  using QueryTile = typename Layout::QueryTile;
  using KeyTile = typename Layout::KeyTile;
  using ValueTile = typename Layout::ValueTile;
  using Score = Accumulator<Variant::kKeyTile>;
  using Query = QueryFragments<Element, QueryTile, Variant::kStrips>;
  static constexpr int kStrips = Variant::kStrips;
  static constexpr bool kPacksGroup = Variant::kPacksGroup;
  static constexpr bool kTwoStages = Variant::kStages == 2;
  static constexpr bool kTriesReference =
      Variant::kTriesReference && kTwoStages && !Variant::kTracksMaximum;
  const PortableParams& params;
  const typename Mods::Bindings& bindings;
  Layout layout;
  const ItemRows<kPacksGroup>& rows;
  u32 warp;
  PortableSoftmax<Variant, Mods> softmax;
  i32 next_note = 0;
  bool first_tile = true;
  Accumulator<Variant::kValueTile> out[kStrips];
  Query held_query[Variant::kHoldsQuery ? QueryTile::kSteps : 1];

  __device__ __forceinline__ void run() {
    if (warp == 0) {
      copies().start();
      search().start();
      search().fill();
    }
    if (Copies::kSearchThreads == 0 || warp != 0) copies().query();
    softmax.start(rows, first_row());
#pragma unroll
    for (int s = 0; s < kStrips; ++s) out[s].clear();
    ptx::sync_block();
    if constexpr (kTwoStages) {
      two_stages();
    } else {
      one_stage();
    }
    store();
  }

 private:
  static __device__ __forceinline__ u32 lane() { return Copies::thread() % 32; }

  __device__ __forceinline__ Copies copies() const { return {params, layout, rows}; }

  __device__ __forceinline__ void copy_tile(KeyTileNote tile, u32 stage) const {
    copies().key(tile, stage);
    copies().value(tile, stage);
    ptx::commit_copies();
  }

  __device__ __forceinline__ PortableSearch<Variant, Mods> search() const {
    return {params, bindings, layout, rows, lane()};
  }

  /// The block's row that strip 0, slot 0 of this thread holds.
  __device__ __forceinline__ i32 first_row() const {
    return rows.item.q_begin + static_cast<i32>(warp) * Layout::kWarpRows +
           static_cast<i32>(lane() / 4);
  }

  /// Warps past the last row copy and wait, but do not compute.
  __device__ __forceinline__ bool has_rows() const {
    return rows.item.q_begin + static_cast<i32>(warp) * Layout::kWarpRows < rows.item.q_end;
  }

  /// The next key tile; false where none is left. Called by the whole block.
  __device__ __forceinline__ bool take(KeyTileNote& tile) {
    if (next_note == layout.search().notes) {
      if (layout.search().finished != 0) return false;
      ptx::sync_block();
      if (warp == 0) search().fill();
      ptx::sync_block();
      next_note = 0;
      if (layout.search().notes == 0) return false;
    }
    tile = layout.page()[next_note++];
    return true;
  }

  /// The first pass has no tile to work on, the last none to copy.
  __device__ __forceinline__ void two_stages() {
    KeyTileNote tile = {};
    bool more = true;
#pragma unroll 1
    for (u32 stage = 0; more; stage ^= 1) {
      KeyTileNote next = {};
      more = take(next);
      const bool works = tile.keys() != 0 && has_rows();
      ptx::wait_copies<0>();
      ptx::sync_block();
      if (Copies::kCopiesFirst && more) copy_tile(next, stage ^ 1);
      Score score[kStrips];
      if (works) {
        hold_query();
        scores(score, stage);
      }
      if (!Copies::kCopiesFirst && more) copy_tile(next, stage ^ 1);
      if (works) {
        softmax.load_columns(tile);
        to_probabilities(score, tile, stage);
        products(score, stage);
      }
      tile = next;
    }
  }

  __device__ __forceinline__ void one_stage() {
    KeyTileNote tile = {};
    bool more = true;
#pragma unroll 1
    while (more) {
      const bool works = tile.keys() != 0 && has_rows();
      ptx::wait_copies<0>();
      ptx::sync_block();
      Score score[kStrips];
      if (tile.keys() != 0) {
        copies().value(tile, 0);
        ptx::commit_copies();
        hold_query();
        if (works) scores(score, 0);
      }
      KeyTileNote next = {};
      more = take(next);
      ptx::wait_copies<0>();
      ptx::sync_block();
      if (more) {
        copies().key(next, 0);
        ptx::commit_copies();
      }
      if (works) {
        softmax.load_columns(tile);
        to_probabilities(score, tile, 0);
        products(score, 0);
      }
      tile = next;
    }
  }

  /// Tries the reference where that is allowed; keys are still there to make the scores again.
  __device__ __forceinline__ void to_probabilities(Score (&score)[kStrips], KeyTileNote tile,
                                                   u32 stage) {
    const bool tries = kTriesReference && !first_tile && softmax.is_whole(tile);
    first_tile = false;
    if (tries) {
      if (softmax.try_reference(score, tile)) return;
      scores(score, stage);
    }
    follow_maximum(score, tile);
  }

  __device__ __forceinline__ void follow_maximum(Score (&score)[kStrips], KeyTileNote tile) {
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      float factor[kRowsPerThread];
      if (softmax.follow_maximum(score[s], s, tile, factor)) {
#pragma unroll
        for (int e = 0; e < out[s].kElements; ++e) out[s].value[e] *= factor[out[s].row_slot(e)];
      }
    }
  }

  /// Once the query has arrived, with the first key tile.
  __device__ __forceinline__ void hold_query() {
    if constexpr (Variant::kHoldsQuery) {
      if (!first_tile) return;
#pragma unroll
      for (int step = 0; step < QueryTile::kSteps; ++step) {
        held_query[step].load(lane_query(), step);
      }
    }
  }

  __device__ __forceinline__ ptx::SharedAddress lane_query() const {
    return lane_in_16_rows<QueryTile>(
        layout.query() + warp * Layout::kWarpRows * QueryTile::kRowBytes, lane());
  }

  __device__ __forceinline__ void scores(Score (&score)[kStrips], u32 stage) {
    const ptx::SharedAddress key = lane_in_two_by_8_rows<KeyTile>(layout.key(stage), lane());
    if constexpr (Variant::kHoldsQuery) {
      score_product<Element, KeyTile>(
          score, [&](int step) -> const Query& { return held_query[step]; }, key);
    } else {
      const ptx::SharedAddress query = lane_query();
      score_product<Element, KeyTile>(
          score,
          [&](int step) {
            Query fragments;
            fragments.load(query, step);
            return fragments;
          },
          key);
    }
  }

  __device__ __forceinline__ void products(Score (&score)[kStrips], u32 stage) {
    if constexpr (kIsFloat<Element>) {
      value_product<Element, ValueTile>(out, score,
                                        lane_in_row_pairs<ValueTile>(layout.value(stage), lane()));
    } else {
      u32 probability[kStrips][Variant::kKeyTile / 4];
#pragma unroll
      for (int s = 0; s < kStrips; ++s) softmax.rows[s].pack(score[s], probability[s]);
      value_product<Element, ValueTile>(out, probability,
                                        lane_in_16_rows<ValueTile>(layout.value(stage), lane()));
    }
  }

  __device__ __forceinline__ void store() const {
    if (!has_rows()) return;
    const i32 first_column = Copies::first_value_column();
    const PortableStore<Variant> to = {params, rows, first_column,
                                       min(params.value_dim - first_column, Variant::kValueTile)};
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      to.strip(out[s], finish_rows(softmax.rows[s]), first_row() + 16 * s);
    }
  }
};

/// The body of a kernel: an emitted variant wraps it in an extern "C" __global__ function with
/// __launch_bounds__(PortableLayout<Variant>::kThreads, blocks a multiprocessor).
template <class Variant, class Mods>
__device__ __forceinline__ void portable_forward(const PortableParams& params,
                                                 const typename Mods::Bindings& bindings) {
  using Layout = PortableLayout<Variant>;
  extern __shared__ __align__(16) unsigned char memory[];
  const u32 thread = ptx::thread_in_block();
  const u32 lane = thread % 32;
  const Layout layout = {memory};
  if (thread == 0) {
    layout.item() = decode_portable_item<Variant::kPacksGroup, Variant::kWalksLists>(
        params.schedule, params.lists, params.extents, params.lengths,
        static_cast<i32>(ptx::block_in_grid()));
  }
  ptx::sync_block();
  const ItemRows<Variant::kPacksGroup> rows = {params.extents, layout.item()};
  const FragmentLane fragment = {static_cast<i32>(lane / 4), static_cast<i32>(lane % 4 * 2)};
  const PortableSoftmax<Variant, Mods> softmax = {bindings, params.scale, params.scale_log2,
                                                  fragment};
  PortableForward<Variant, Mods>{params, bindings, layout, rows, ptx::broadcast(thread / 32, 0),
                                 softmax}
      .run();
}

}  // namespace tilewright::cuda
