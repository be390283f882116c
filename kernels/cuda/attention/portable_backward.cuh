// Attention backward for sm_80 and later: warp matrix instructions and asynchronous copies. Serves
// what the Hopper family cannot: every architecture, fp32, any head dims, any strides, span lists.
//
// Formula    S = Q K^T, T = score_mod(scale S), P = e^(T - lse) where live, else 0; dV = P^T dO,
//            dP = dO V^T, dT = P (dP - delta), dS = dT dT/dS, dK = scale dS^T Q, dQ = scale dS K;
//            delta and -lse come from backward_prepare.cuh, dQ is finished by
//            portable_gradient_finish.cuh.
// Pipeline   one block an item: a tile of keys of one key head, past which all query tiles of all
//            query heads that share it go, so dK and dV stay in registers and are written once.
//
//              a tile   S P dP dS, own dV dK | others' dV dK              | dQ                |
//              copies                        | next of two stages         | next of one stage |
//              barrier                       warps that share keys        block               block
//
//            S and dP are made transposed, so that P and dS of a warp's own queries are operands of
//            its dV and dK in registers. Where warps share keys (kColumnWarps), each makes P and dS
//            of a part of the queries, hands them over in shared memory, and holds a part of the
//            columns of dK and dV. dS also goes to shared memory for dQ, which is divided by rows
//            and columns.
// Tensors    query [B, Hq, Q, E], key [Bkv, Hkv, KV, E], value [Bkv, Hkv, KV, Ev], d_out [B, Hq, Q,
//            Ev]: bf16, fp16 or fp32, global, any strides; d_key, d_value like key and value, from
//            registers; dQ by fp32 additions in memory.
// Memory     shared: key and value tile, kQueryStages query, kGradStages dO tiles, dS of a tile,
//            P of a tile where warps share keys, their rows' numbers, a page of visits; registers
//            of a thread and strip: S and dP kChunk / 2 each, dK and dV columns / 2.
// Barriers   the block's, two a tile and two a page of visits; one of the warps that share keys.
// Numbers    S, dP, sums fp32; P and dS are rounded to the element type before their products
//            (fp32: not). Dead pairs are selected away. Rows without live pairs have minus_lse =
//            -inf, so P = 0. dQ's additions come in no fixed order but in deterministic variants.
#pragma once

#include "attention/item_keys.cuh"
#include "attention/portable_backward_copies.cuh"
#include "attention/portable_backward_search.cuh"
#include "attention/portable_key_products.cuh"
#include "attention/portable_query_product.cuh"
#include "attention/portable_scores.cuh"
#include "ptx/named_barrier.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods, class Gradient>
struct PortableBackward {
  using Layout = PortableBackwardLayout<Variant>;
  using Scores = PortableScores<Variant, Mods, Gradient>;
  static constexpr bool kTwoQueries = Layout::kQueryStages == 2;
  static constexpr bool kTwoGrads = Layout::kGradStages == 2;
  static constexpr bool kCopiesLate = !kTwoQueries || !kTwoGrads;

  const PortableBackwardParams& params;
  const typename Mods::Bindings& bindings;
  const Layout& layout;
  BackwardWarp<Variant>& warp;
  Scores scores;
  PortableKeyProducts<Variant> keys;
  QueryTurn<Variant::kDeterministic> turn{};
  i32 next_visit = -1;  ///< on the page

  __device__ __forceinline__ void run() {
    using Copies = PortableBackwardCopies<Variant>;
    if (ptx::thread_in_block() >= Copies::kSearchThreads) copies().keys_and_values();
    ptx::commit_copies();
    scores.start_item();
    keys.clear();
    turn.start_item(layout.item().kv_begin / Layout::kKeyTile);
    // The first pass has no tile to work on, the last none to copy.
    bool works = false, more = true;
#pragma unroll 1
    while (more) {
      more = advance();
      if (works) {
        ptx::wait_copies<0>();
        turn.flush();
        ptx::sync_block();
        turn.pass();
      }
      if (more && !works) copy(true, true);
      if (works) work(more);
      works = true;
      ++warp.step;
    }
    ptx::wait_copies<0>();
    turn.flush();
    if (Variant::kDeterministic) ptx::sync_block();
    turn.pass();
    keys.clear_from(layout.item().live_end - layout.item().kv_begin);
    keys.store();
  }

 private:
  __device__ __forceinline__ PortableBackwardSearch<Variant, Mods> search() const {
    return {params, bindings, layout, warp.lane};
  }
  __device__ __forceinline__ PortableBackwardCopies<Variant> copies() const {
    return {params, layout};
  }

  /// Moves next_visit on; false where none is left. The visit before is then the one in front of
  /// it, or the one that the page has kept. Called by the whole block.
  __device__ __forceinline__ bool advance() {
    ++next_visit;
    if (next_visit < layout.search().visits) return true;
    if (layout.search().finished != 0) return false;
    ptx::sync_block();
    if (ptx::thread_in_block() < 32) search().fill();
    ptx::sync_block();
    next_visit = 0;
    return layout.search().visits != 0;
  }

  /// Of the next visit.
  __device__ __forceinline__ void copy(bool query, bool grad) const {
    const QueryVisit& visit = layout.page()[next_visit];
    if (query) copies().query(visit, (warp.step + 1) % Layout::kQueryStages);
    if (grad) copies().d_out(visit, (warp.step + 1) % Layout::kGradStages);
    if (query || grad) ptx::commit_copies();
  }

  /// The tile of the visit before the next one.
  __device__ __forceinline__ void work(bool more) {
    const i32 present = next_visit == 0 ? Layout::kPageVisits : next_visit - 1;
    const QueryVisit& visit = layout.page()[present];
    own_products(visit);
    // Not in front of the products: matrix loads go through the queue that a burst of copies fills.
    if (more) copy(kTwoQueries, kTwoGrads);
    if constexpr (Layout::kColumnWarps > 1) {
      // Only the warps that share keys need each other's P and dS for dK and dV.
      ptx::sync(ptx::NamedBarrier{1 + static_cast<u32>(warp.key_warp), 32 * Layout::kColumnWarps});
      keys.add_others();
    }
    ptx::sync_block();
    if (kCopiesLate && more) copy(!kTwoQueries, !kTwoGrads);
    if constexpr (Variant::kWantsQuery) {
      PortableQueryProduct<Variant>{params, layout, warp}.add(visit, turn);
    }
  }

  /// P, dS and their products with the columns of this warp, for its own queries.
  __device__ __forceinline__ void own_products(const QueryVisit& visit) {
    scores.start_visit(visit);
#pragma unroll 1
    for (i32 chunk = 0; chunk < Layout::kOwnQueries; chunk += Layout::kChunk) {
      const i32 first_query = warp.column_warp * Layout::kOwnQueries + chunk;
      typename Scores::Score score[Variant::kStrips], d_probability[Variant::kStrips];
      scores.make(visit, first_query, score, d_probability);
      keys.add_own(score, d_probability, first_query);
    }
  }
};

/// The body of a kernel: an emitted variant wraps it in an extern "C" __global__ function with
/// __launch_bounds__(PortableBackwardLayout<Variant>::kThreads, blocks a multiprocessor).
template <class Variant, class Mods, class Gradient>
__device__ __forceinline__ void portable_backward(const PortableBackwardParams& params,
                                                  const typename Mods::Bindings& bindings) {
  using Layout = PortableBackwardLayout<Variant>;
  using Scores = PortableScores<Variant, Mods, Gradient>;
  extern __shared__ __align__(16) unsigned char memory[];
  const u32 thread = ptx::thread_in_block();
  const Layout layout = {memory};
  if (thread == 0) {
    layout.item() = decode_backward_item<Layout::kKeyTile>(
        params.schedule, params.extents, item_of_block<Variant::kDeterministic>(params.schedule));
    layout.item().live_end = last_live_end(params.lengths, params.extents, layout.item());
    layout.search() = {0, 0, layout.item().stream_begin, 0, 0, -1, 0, 0};
  }
  ptx::sync_block();
  const i32 index = static_cast<i32>(ptx::broadcast(thread / 32, 0));
  BackwardWarp<Variant> warp = {thread % 32, index / Layout::kColumnWarps,
                                index % Layout::kColumnWarps};
  PortableBackward<Variant, Mods, Gradient>{
      params,
      bindings,
      layout,
      warp,
      {params, layout, warp, Scores::Strips::make(params, bindings)},
      {params, layout, warp}}
      .run();
}

}  // namespace tilewright::cuda
