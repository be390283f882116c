// A consumer warpgroup: its half of every tile of an item. The order of a step keeps matrix
// instructions in flight under everything else. Two query stages, and more (dK runs on):
//
//   in flight  dK dP' | -       | dV | dV dQ | dQ S' dK   | dK     |
//   doing      P'     | dS pack | -  | sync  | wait dQ S' | add dQ | issue dP'
//
//   in flight  dP' dK | dK | -    | dV | dV dQ | dQ S'      | -      |
//   doing      P'     | dS | pack | -  | sync  | wait dQ S' | add dQ | issue dP' dK
#pragma once

#include "attention/key_gradient_store.cuh"
#include "attention/query_gradient_sums.cuh"
#include "attention/tile_gradients.cuh"
#include "attention/tile_site.cuh"
#include "tile/gradient_gemms.cuh"
#include "tile/store_fragment.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods, class Gradient>
struct BackwardConsumer {
  using Layout = BackwardLayout<Variant>;
  using Element = typename Variant::Element;
  using QueryTile = typename Layout::QueryTile;
  using GradTile = typename Layout::GradTile;
  using KeyTile = typename Layout::KeyTile;
  using ValueTile = typename Layout::ValueTile;
  using ScoreTile = typename Layout::ScoreTile;
  using Gradients = TileGradients<Layout, BackwardParams, TileSite, Mods, Gradient>;
  static constexpr bool kSplitsKeys = Layout::kSplitsKeys;
  static constexpr int kScoreColumns = Layout::kScoreColumns;
  static constexpr int kKeyTile = Layout::kKeyTile;
  static constexpr int kQueryTile = Layout::kQueryTile;

  const BackwardParams& params;
  Layout layout;
  u32 warpgroup;
  Gradients tile_gradients;
  QueryGradientSums<Variant> query_sums;
  RingPosition<1> kv_at{};
  RingPosition<Layout::kItemSlots> item_at{};
  StepCount at{};  ///< the tile whose P and dS are made

  Accumulator<kScoreColumns> score, d_probability;
  Accumulator<Layout::kKeyColumns> d_key;
  Accumulator<Layout::kValueColumns> d_value;
  Accumulator<Layout::kSumColumns> d_query;
  u32 probability[kScoreColumns / 4], d_score[kScoreColumns / 4];

  __device__ __forceinline__ void run() {
    while (!await_tile().ends_stream()) {
      tile_gradients.start_item(item());
      query_sums.start_item(item());
      d_key.clear();
      d_value.clear();
      if (note().nothing()) {
        skip_stage();
      } else {
        gradients_of_item();
      }
      const i32 first_row = Layout::first_key_row(warpgroup) + tile_gradients.lane.first_row;
      KeyGradientStore<Variant>{params, warpgroup, first_row}.store(item(), d_key, d_value);
      ptx::sync_warp();
      release(layout.item_ring().empty(item_at.stage));
      item_at.advance();
    }
  }

  __device__ __forceinline__ void gradients_of_item() {
    layout.key_ring().wait_full(kv_at);
    // The zeros must be there before the first product is in flight.
    d_key.pin();
    d_value.pin();
    issue_scores();
    layout.value_ring().wait_full(kv_at);
    issue_d_probability();
    ptx::matrix_wait<1>();
    make_probabilities();
    ptx::matrix_wait<0>();
    d_probability.pin();
    while (true) {
      make_gradients();
      issue_query_product();
      finish_value();
      const u32 step = at.steps;
      const bool last = note().last();
      at.steps += last ? 0 : 1;
      await_tile();
      // Behind the last tile this makes scores that nobody reads: a product issued in a branch
      // would keep all products from overlapping.
      issue_scores();
      if constexpr (!Layout::kKeyProductRunsOn) issue_key_product(step);
      finish_query(step);
      if (last) break;
      issue_d_probability();
      if constexpr (Layout::kKeyProductRunsOn) issue_key_product(step);
      make_probabilities();
      if constexpr (Layout::kKeyProductRunsOn) {
        ptx::matrix_wait<1>();
        d_probability.pin();
      } else {
        finish_products(step, true);
      }
    }
    if constexpr (Layout::kKeyProductRunsOn) issue_key_product(at.steps);
    finish_item();
  }

  /// S of the tile is there: P, while what was issued after S runs.
  __device__ __forceinline__ void make_probabilities() {
    score.pin();
    if (note().new_stream()) tile_gradients.start_stream(item(), note().stream);
    if constexpr (!Gradients::kNeedsScore) {
      tile_gradients.to_probabilities(score, site());
    }
  }

  /// Waits for dK of the tile of `step`, and for all else; `holds`: its query is to be released.
  __device__ __forceinline__ void finish_products(u32 step, bool holds) {
    ptx::matrix_wait<0>();
    d_probability.pin();
    d_key.pin();
    if constexpr (Layout::kKeyProductFromRegisters) pin(d_score);
    ptx::arrive_if(holds && leads_warp(), layout.query_ring().empty(step % Layout::kQueryStages));
  }

  /// P and dS, in registers and where the warpgroups share them, and dV on its way.
  __device__ __forceinline__ void make_gradients() {
    tile_gradients.to_gradients(score, d_probability, site());
    if constexpr (Layout::kKeyProductRunsOn) finish_products(at.steps - 1, !note().first());
    pack(score, probability);
    pack(d_probability, d_score);
    share();
  }

  /// Hands P and dS to the other warpgroup and starts dV.
  __device__ __forceinline__ void share() {
    const i32 first_row = Layout::first_key_row(warpgroup);
    const i32 first_column = Layout::first_query(warpgroup);
    store_fragment<ScoreTile, kScoreColumns>(d_score, layout.d_score(side()), first_row,
                                             first_column);
    if constexpr (!kSplitsKeys) {
      store_fragment<ScoreTile, kScoreColumns>(probability, layout.probability(side()), first_row,
                                               first_column);
    }
    ptx::fence_async_shared();
    if constexpr (kSplitsKeys) issue_value_product();
    ptx::sync(ptx::NamedBarrier{1, Layout::kConsumerThreads});
    if constexpr (!kSplitsKeys) issue_value_product();
  }

  /// S^T = K Q^T.
  __device__ __forceinline__ void issue_scores() {
    score.forget();
    ptx::matrix_fence();
    issue_by_columns<Element, KeyTile, QueryTile, Variant::kHeadDim>(
        score, KeyTile::k_along_columns(layout.key() + key_rows()),
        QueryTile::k_along_columns(layout.query(query_stage()) + query_rows()));
    ptx::matrix_commit();
  }

  /// dP^T = V dO^T.
  __device__ __forceinline__ void issue_d_probability() {
    layout.grad_ring().wait_full(at.in_ring<Layout::kGradStages>());
    d_probability.forget();
    ptx::matrix_fence();
    issue_by_columns<Element, ValueTile, GradTile, Variant::kValueDim>(
        d_probability, ValueTile::k_along_columns(layout.value() + key_rows()),
        GradTile::k_along_columns(layout.d_out(grad_stage()) + query_rows()));
    ptx::matrix_commit();
  }

  /// dV += P^T dO.
  __device__ __forceinline__ void issue_value_product() {
    d_value.pin();
    pin(probability);
    ptx::matrix_fence();
    const ptx::SharedAddress d_out = layout.d_out(grad_stage());
    if constexpr (kSplitsKeys) {
      issue_registers_by_rows<Element, GradTile, kQueryTile>(d_value, probability,
                                                             GradTile::k_along_rows(d_out));
    } else {
      const u32 half = warpgroup * Layout::ValueHalves::kOwnChunks * GradTile::kChunkBytes;
      issue_by_rows<Element, ScoreTile, GradTile, kQueryTile, false, true>(
          d_value, ScoreTile::k_along_columns(layout.probability(side())),
          GradTile::k_along_rows(d_out + half));
    }
    ptx::matrix_commit();
  }

  /// dK += dS^T Q of the tile of `step`.
  __device__ __forceinline__ void issue_key_product(u32 step) {
    d_key.pin();
    if constexpr (Layout::kKeyProductFromRegisters) pin(d_score);
    ptx::matrix_fence();
    const ptx::SharedAddress query = layout.query(step % Layout::kQueryStages);
    if constexpr (Layout::kKeyProductFromRegisters) {
      issue_registers_by_rows<Element, QueryTile, kQueryTile>(d_key, d_score,
                                                              QueryTile::k_along_rows(query));
    } else {
      const u32 half =
          kSplitsKeys ? 0 : warpgroup * Layout::KeyHalves::kOwnChunks * QueryTile::kChunkBytes;
      const ptx::SharedAddress d_score_tile = layout.d_score(step % Layout::kSides) + key_rows();
      issue_by_rows<Element, ScoreTile, QueryTile, kQueryTile, false, true>(
          d_key, ScoreTile::k_along_columns(d_score_tile), QueryTile::k_along_rows(query + half));
    }
    ptx::matrix_commit();
  }

  /// dQ = dS K of this tile.
  __device__ __forceinline__ void issue_query_product() {
    d_query.forget();
    ptx::matrix_fence();
    const u32 row_chunk = Layout::kSumsByRows ? warpgroup * ScoreTile::kChunkBytes : 0;
    const u32 half =
        Layout::kSumsByRows ? 0 : warpgroup * Layout::KeyHalves::kOwnChunks * KeyTile::kChunkBytes;
    issue_by_rows<Element, ScoreTile, KeyTile, kKeyTile, true, false>(
        d_query, ScoreTile::k_along_rows(layout.d_score(side()) + row_chunk),
        KeyTile::k_along_rows(layout.key() + half));
    ptx::matrix_commit();
  }

  /// Waits for dV, not for dQ.
  __device__ __forceinline__ void finish_value() {
    ptx::matrix_wait<1>();
    d_value.pin();
    pin(probability);
    release(layout.grad_ring().empty(grad_stage()));
  }

  /// Waits for dQ of the tile of `step` and for the scores of the next, not for a dK under way.
  __device__ __forceinline__ void finish_query(u32 step) {
    ptx::matrix_wait<Layout::kKeyProductRunsOn ? 0 : 1>();
    score.pin();
    d_query.pin();
    query_sums.add(d_query, layout.note(step % Layout::kQueryStages));
  }

  __device__ __forceinline__ void finish_item() {
    query_sums.finish_item();
    finish_products(at.steps, true);
    release(layout.key_ring().empty(kv_at.stage));
    release(layout.value_ring().empty(kv_at.stage));
    at.steps += 1;
    kv_at.advance();
  }

  /// A note without a tile.
  __device__ __forceinline__ void skip_stage() {
    layout.grad_ring().wait_full(at.in_ring<Layout::kGradStages>());
    release(layout.query_ring().empty(query_stage()));
    release(layout.grad_ring().empty(grad_stage()));
    at.steps += 1;
  }

  __device__ __forceinline__ const QueryNote& await_tile() {
    layout.query_ring().wait_full(at.in_ring<Layout::kQueryStages>());
    return note();
  }

  __device__ __forceinline__ u32 query_stage() const { return at.steps % Layout::kQueryStages; }
  __device__ __forceinline__ u32 grad_stage() const { return at.steps % Layout::kGradStages; }
  __device__ __forceinline__ u32 side() const { return at.steps % Layout::kSides; }
  __device__ __forceinline__ const QueryNote& note() const { return layout.note(query_stage()); }
  __device__ __forceinline__ const BackwardItem& item() const { return layout.item(item_at.stage); }

  __device__ __forceinline__ TileSite site() const {
    return {note(), item(), layout.minus_lse(query_stage()), layout.delta(grad_stage())};
  }

  /// Byte offsets of this warpgroup's rows in a chunk of keys, of queries.
  __device__ __forceinline__ u32 key_rows() const {
    return static_cast<u32>(Layout::first_key_row(warpgroup)) * kChunkRowBytes;
  }
  __device__ __forceinline__ u32 query_rows() const {
    return static_cast<u32>(Layout::first_query(warpgroup)) * kChunkRowBytes;
  }

  static __device__ __forceinline__ void pack(const Accumulator<kScoreColumns>& from,
                                              u32 (&words)[kScoreColumns / 4]) {
#pragma unroll
    for (int w = 0; w < kScoreColumns / 4; ++w) {
      words[w] = ptx::pack(Element{}, from.value[2 * w], from.value[2 * w + 1]);
    }
  }

  static __device__ __forceinline__ void pin(u32 (&words)[kScoreColumns / 4]) {
#pragma unroll
    for (int w = 0; w < kScoreColumns / 4; ++w) ptx::pin(words[w]);
  }

  static __device__ __forceinline__ bool leads_warp() { return ptx::thread_in_block() % 32 == 0; }

  /// One arrival a warp.
  static __device__ __forceinline__ void release(ptx::Mbarrier empty) {
    ptx::arrive_if(leads_warp(), empty);
  }
};

}  // namespace tilewright::cuda
