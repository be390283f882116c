// A consumer warpgroup: 64 query rows of each item.
//
// The stream of key tiles has no seams: while S(n+1) = Q K(n+1) and O += P(n) V(n) run, nothing else is pending, and tile n+1 may
// already belong to the next item, whose first softmax then hides the last product of this one.
#pragma once

#include "attention/apply_mods.cuh"
#include "attention/forward_layout.cuh"
#include "attention/forward_store.cuh"
#include "pipeline/ping_pong.cuh"
#include "tile/attention_gemms.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods>
struct ForwardConsumer {
  using Layout = ForwardLayout<Variant>;
  using Element = typename Variant::Element;
  static constexpr int kKeyTile = Variant::kKeyTile;
  static constexpr u32 kVoteBarrier = 1 + Layout::kWarpgroups;
  static constexpr float kLog2E = 1.44269504088896341f;
  static constexpr bool kMultiplierIsLog2E = Mods::kHasScoreMod || Variant::kScalesFirst;

  const ForwardParams& params;
  const typename Mods::Bindings& bindings;
  Layout layout;
  u32 warpgroup;
  FragmentLane lane;
  PingPong<Layout::kWarpgroups, Variant::kPingPong> turns;
  RingPosition<Layout::kStages> key_at{}, value_at{};
  u32 query_parity = 0;

  Accumulator<kKeyTile> score;
  Accumulator<Variant::kValueDim> out;
  u32 probability[kKeyTile / 4];
  OnlineSoftmax<Variant> softmax;
  ModsOfItem<Mods> mods;

  __device__ __forceinline__ void run() {
    TileNote tile = await_key();
    turns.start();
    if (!tile.ends_stream()) {
      open_stream(tile);
      for (TileNote next = await_key(); !next.ends_stream(); next = await_key()) {
        step(tile, next);
        tile = next;
      }
      close_stream(tile);
    }
    turns.finish();
  }

  /// The first tile of all has no product to run beside.
  __device__ __forceinline__ void open_stream(TileNote tile) {
    out.clear();
    softmax.reset();
    load_mods(tile);
    await_query();
    issue_scores();
    ptx::matrix_commit();
    score.pin();
    ptx::matrix_wait<0>();
    score.pin();
    float factor[kRowsPerThread];
    to_probabilities(tile, factor);
    release_key(tile);
    softmax.pack(score, probability);
  }

  /// Issues the scores of `next` and the product of `tile`, and turns those scores into probabilities meanwhile.
  __device__ __forceinline__ void step(TileNote tile, TileNote next) {
    if (next.first()) await_query();
    turns.await_turn();
    issue_scores();
    ptx::matrix_commit();
    layout.value_ring().wait_full(value_at);
    issue_value();
    ptx::matrix_commit();
    turns.pass_turn();
    ptx::matrix_wait<1>();
    score.pin();
    if (tile.last()) {
      cross_items(tile, next);
      return;
    }
    float factor[kRowsPerThread];
    bool rescales = false;
    if (!try_probabilities(next)) rescales = to_probabilities(next, factor);
    release_key(next);
    finish_value();
    if (rescales) rescale(factor);
    softmax.pack(score, probability);
  }

  /// `next` is the first tile of another item: its softmax starts afresh, and the finished rows are stored.
  __device__ __forceinline__ void cross_items(TileNote tile, TileNote next) {
    const FinishedRows done = finish_rows(softmax);
    softmax.reset();
    load_mods(next);
    float factor[kRowsPerThread];
    to_probabilities(next, factor);
    release_key(next);
    finish_value();
    softmax.pack(score, probability);
    store(tile, done);
    out.clear();
  }

  __device__ __forceinline__ void close_stream(TileNote tile) {
    layout.value_ring().wait_full(value_at);
    turns.await_turn();
    issue_value();
    ptx::matrix_commit();
    turns.pass_turn();
    finish_value();
    store(tile, finish_rows(softmax));
  }

  __device__ __forceinline__ TileNote await_key() {
    layout.key_ring().wait_full(key_at);
    return layout.note(key_at.stage);
  }

  __device__ __forceinline__ void await_query() {
    ptx::wait(layout.query_barriers().full(warpgroup), query_parity);
    query_parity ^= 1;
  }

  __device__ __forceinline__ void load_mods(TileNote tile) {
    mods.load(bindings, layout.item(tile.item_slot()), row_in_item());
  }

  __device__ __forceinline__ i32 row_in_item() const {
    return static_cast<i32>(warpgroup) * kWarpgroupRows + lane.first_row;
  }

  __device__ __forceinline__ void issue_scores() {
    score.pin();
    ptx::matrix_fence();
    issue_score_gemm<Element, Variant::kHeadDim>(score, layout.query(warpgroup),
                                                 layout.key(key_at.stage));
  }

  __device__ __forceinline__ void issue_value() {
    out.pin();
#pragma unroll
    for (int w = 0; w < kKeyTile / 4; ++w) ptx::pin(probability[w]);
    ptx::matrix_fence();
    issue_value_gemm<Element, kKeyTile, Variant::kValueDim>(out, probability,
                                                            layout.value(value_at.stage));
  }

  __device__ __forceinline__ void finish_value() {
    ptx::matrix_wait<0>();
    out.pin();
#pragma unroll
    for (int w = 0; w < kKeyTile / 4; ++w) ptx::pin(probability[w]);
    release(layout.value_ring().empty(value_at.stage));
    value_at.advance();
  }

  __device__ __forceinline__ void release_key(TileNote tile) {
    release(layout.key_ring().empty(key_at.stage));
    key_at.advance();
    if (tile.last()) release(layout.query_barriers().empty(warpgroup));
  }

  /// One arrival a warp.
  static __device__ __forceinline__ void release(ptx::Mbarrier empty) {
    if (ptx::thread_in_block() % 32 == 0) ptx::arrive(empty);
  }

  /// Mods and softmax of a full tile with the reference as it is. False: `score` holds the tile's scores (again), untouched.
  __device__ __forceinline__ bool try_probabilities(TileNote tile) {
    if (Variant::kTracksMaximum || tile.partial()) return false;
    apply_score(tile);
    float tile_sum[kRowsPerThread];
    softmax.exponentiate(score, kMultiplierIsLog2E ? kLog2E : params.scale_log2, tile_sum);
    // The products below are issued by the whole warpgroup, so all of it decides.
    if (!ptx::sync_any({kVoteBarrier + warpgroup, 128}, !softmax.in_range(tile_sum))) {
      softmax.add(tile_sum);
      return true;
    }
    issue_scores();
    ptx::matrix_commit();
    score.pin();
    ptx::matrix_wait<0>();
    score.pin();
    return false;
  }

  /// Mods, mask and softmax of any tile. True: the products before this tile must be multiplied by `factor`.
  __device__ __forceinline__ bool to_probabilities(TileNote tile, float (&factor)[kRowsPerThread]) {
    apply_score(tile);
    if (tile.partial()) apply_mask<Mods>(score, bindings, mods, lane, tile.kv_begin);
    const float multiplier = kMultiplierIsLog2E ? kLog2E : params.scale_log2;
    const bool rescales = softmax.raise(score, multiplier, factor);
    float tile_sum[kRowsPerThread];
    softmax.exponentiate(score, multiplier, tile_sum);
    softmax.add(tile_sum);
    return rescales;
  }

  __device__ __forceinline__ void apply_score(TileNote tile) {
    if constexpr (Mods::kHasScoreMod) {
      apply_score_mod<Mods>(score, params.scale, bindings, mods, lane, tile.kv_begin);
    } else if constexpr (Variant::kScalesFirst) {
#pragma unroll
      for (int e = 0; e < score.kElements; ++e) score.value[e] *= params.scale;
    }
  }

  __device__ __forceinline__ void rescale(const float (&factor)[kRowsPerThread]) {
#pragma unroll
    for (int e = 0; e < out.kElements; ++e) out.value[e] *= factor[out.row_slot(e)];
  }

  __device__ __forceinline__ void store(TileNote tile, const FinishedRows& done) {
    const WorkItem& item = layout.item(tile.item_slot());
    store_item<Variant>(params, item, lane, row_in_item(), done, out);
    ptx::sync_warp();
    release(layout.item_ring().empty(tile.item_slot()));
  }
};

}  // namespace tilewright::cuda
