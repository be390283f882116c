// A consumer warpgroup: 64 query rows of each item.
//
// The stream of key tiles has no seams: while S(n+1) = Q K(n+1) and O += P(n) V(n) run, nothing
// else is pending, and tile n+1 may already belong to the next item, whose first softmax then hides
// the last product of this one.
//
// Two ways to keep the exponents in range. Variant::kDefersCheck: a full tile is exponentiated with
// the reference that is there (online_softmax.cuh), and whether that was in range is not asked at
// once: a warp that finds it was not raises the warpgroup's alarm, everybody reads it behind the
// barrier of the next step, before P(n) is used, and then the warpgroup does tile n again. No
// maximum is computed, but until then K(n), and the query of a last tile, stay in place, which
// takes a third key stage. Otherwise every tile looks for its maximum first, and K(n) is free as
// soon as its scores are there.
#pragma once

#include "attention/forward_layout.cuh"
#include "attention/forward_store.cuh"
#include "attention/range_alarm.cuh"
#include "attention/tile_softmax.cuh"
#include "pipeline/ping_pong.cuh"
#include "tile/attention_gemms.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods>
struct ForwardConsumer {
  using Layout = ForwardLayout<Variant>;
  using Element = typename Variant::Element;
  static constexpr int kKeyTile = Variant::kKeyTile;
  static constexpr bool kDefersCheck = Variant::kDefersCheck && !Variant::kTracksMaximum;
  /// With a single query stage a deferred check would hold up the next item: its last tile must be
  /// right at once.
  static constexpr bool kLastIsPlain = !kDefersCheck || Layout::kQueryStages > 1;
  /// Tiles with one of these notes do not belong in the plain loop.
  static constexpr u32 kNotPlain = TileNote::kPartial | TileNote::kFirst | TileNote::kEndsStream |
                                   (kLastIsPlain ? 0 : TileNote::kLast);

  const ForwardParams& params;
  Layout layout;
  u32 warpgroup;
  PingPong<Layout::kWarpgroups, Variant::kPingPong> turns;
  RangeAlarm alarm;
  TileSoftmax<Variant, Mods> softmax;
  RingPosition<Layout::kKeyStages> key_at{};
  RingPosition<Layout::kValueStages> value_at{};
  RingPosition<Layout::kQueryStages> query_at{};

  Accumulator<kKeyTile> score;
  Accumulator<Variant::kValueDim> out;
  u32 probability[kKeyTile / 4];
  bool store_waits = false;  ///< `out` belongs to the item before the current one
  u32 store_slot = 0;
  FinishedRows store_rows;

  __device__ __forceinline__ void run() {
    const TileNote tile = await_key();
    turns.start();
    if (!tile.ends_stream()) {
      out.clear();
      softmax.start_item(layout.item(tile.item_slot()), row_in_item());
      await_query();
      work_through(tile);
    }
    turns.finish();
  }

  /// From the first tile of all to the last. A pass of the outer loop does one tile without a
  /// product beside it: the very first, or one whose probabilities turned out to be out of range;
  /// then the turn is already this warpgroup's.
  __device__ __forceinline__ void work_through(TileNote tile) {
    bool again = false;
    TileNote next = tile;
    while (true) {
      do_alone(tile, again);
      if (!again) next = await_key();
      again = go_on(tile, next, again);
      if (!again) break;
    }
    close_stream(tile);
  }

  /// Steps until the stream ends (false), or with the turn until `tile` is to be done again (true).
  __device__ __forceinline__ bool go_on(TileNote& tile, TileNote& next, bool has_turn) {
    while (true) {
      if (!has_turn) {
        if (!next.ends_stream() && plain_steps(tile, next)) return true;
        if (next.first()) await_query();
        await_turn();
        if (kDefersCheck && alarm.raised()) return true;
      }
      has_turn = false;
      if (next.ends_stream()) return false;
      any_step(tile, next);
      tile = next;
      next = await_key();
    }
  }

  /// The scores and probabilities of a tile with nothing beside them.
  __device__ __forceinline__ void do_alone(TileNote tile, bool again) {
    if (again) alarm.reset();
    softmax.load_diagonals(tile);
    scores_now(again ? key_at.previous() : key_at.stage, again ? held_query(tile) : query_at.stage);
    if (!kDefersCheck) release_key(tile, key_at.stage, query_at.stage);
    float factor[kRowsPerThread];
    const bool rescales = softmax.to_probabilities(score, tile, factor);
    if (!again) {
      end_step(tile);
      return;
    }
    if (rescales) rescale(factor);
    softmax.rows.pack(score, probability);
  }

  /// Steps over full tiles inside an item, the loop in which a kernel spends its time. Each issues
  /// the scores of `next` and the product of `tile`, and turns those scores into probabilities
  /// meanwhile. Ends at a tile that is not plain (false), or with the turn when an alarm is found
  /// (true).
  __device__ __forceinline__ bool plain_steps(TileNote& tile, TileNote& next) {
    if (store_waits) return false;
    while ((next.flags & kNotPlain) == 0) {
      await_turn();
      if (kDefersCheck && alarm.raised()) return true;
      issue_scores(key_at.stage, query_at.stage);
      issue_product(tile, next);
      float factor[kRowsPerThread];
      const bool rescales = !kDefersCheck && softmax.raise(score, next, factor);
      softmax.exponentiate(score, next, softmax.kExponentsFirst && !kDefersCheck);
      // Without deferral this never happens but for NaN, and nobody reads the alarm; it still keeps
      // the exponentials in front of the wait for the product that runs beside them.
      if (!softmax.warp_in_range()) alarm.raise();
      finish_value();
      if (rescales) rescale(factor);
      end_step(next);
      tile = next;
      next = await_key();
    }
    return false;
  }

  /// A step that may cross items, mask or store, with the turn; looks for the maximum of `next`.
  __device__ __forceinline__ void any_step(TileNote tile, TileNote next) {
    issue_scores(key_at.stage, query_at.stage);
    if (store_waits) store_finished();
    issue_product(tile, next);
    if (tile.last()) start_item(tile, next);
    float factor[kRowsPerThread];
    const bool rescales = softmax.to_probabilities(score, next, factor);
    // Nobody needs the answer: the vote keeps the exponentials in front of the wait for the product
    // that runs beside them.
    ptx::sync_any(alarm.together, !softmax.rows.in_range(softmax.tile_sum));
    finish_value();
    if (rescales && !tile.last()) rescale(factor);
    end_step(next);
  }

  /// The product of `tile`, whose probabilities are known to be right now; then waits for the
  /// scores issued before.
  __device__ __forceinline__ void issue_product(TileNote tile, TileNote next) {
    if (kDefersCheck) release_held_key(tile);
    layout.value_ring().wait_full(value_at);
    issue_value();
    ptx::matrix_commit();
    turns.pass_turn();
    if (!next.first()) softmax.load_diagonals(next);
    ptx::matrix_wait<1>();
    score.pin();
    if (!kDefersCheck) release_key(next, key_at.stage, query_at.stage);
    softmax.add_tile_sum();
  }

  /// `tile` has become probabilities.
  __device__ __forceinline__ void end_step(TileNote tile) {
    softmax.rows.pack(score, probability);
    key_at.advance();
    if (tile.last()) {
      if (!kLastIsPlain) release(layout.query_ring(warpgroup).empty(query_at.stage));
      query_at.advance();
    }
    alarm.next_step();
  }

  /// The rows of the item that ends with `tile` are finished, but for the product under way; their
  /// store waits for that.
  __device__ __forceinline__ void start_item(TileNote tile, TileNote next) {
    store_rows = finish_rows(softmax.rows);
    store_slot = tile.item_slot();
    store_waits = true;
    softmax.start_item(layout.item(next.item_slot()), row_in_item());
    softmax.load_diagonals(next);
  }

  /// The product of the last tile of all, with the turn.
  __device__ __forceinline__ void close_stream(TileNote tile) {
    if (store_waits) store_finished();
    if (kDefersCheck) release_held_key(tile);
    layout.value_ring().wait_full(value_at);
    issue_value();
    ptx::matrix_commit();
    turns.pass_turn();
    finish_value();
    softmax.add_tile_sum();
    store_rows = finish_rows(softmax.rows);
    store_slot = tile.item_slot();
    store_finished();
  }

  /// A barrier of at least this warpgroup: alarms raised before it are seen after it.
  __device__ __forceinline__ void await_turn() const {
    if constexpr (Variant::kPingPong) {
      turns.await_turn();
    } else {
      ptx::sync(alarm.together);
    }
  }

  __device__ __forceinline__ TileNote await_key() {
    layout.key_ring().wait_full(key_at);
    return layout.note(key_at.stage);
  }

  __device__ __forceinline__ void await_query() {
    layout.query_ring(warpgroup).wait_full(query_at);
  }

  /// The query of the tile before `key_at`: the current one unless that tile was its last.
  __device__ __forceinline__ u32 held_query(TileNote tile) const {
    return tile.last() ? query_at.previous() : query_at.stage;
  }

  __device__ __forceinline__ void release_held_key(TileNote tile) {
    release(layout.key_ring().empty(key_at.previous()));
    if (kLastIsPlain && tile.last()) {
      release(layout.query_ring(warpgroup).empty(query_at.previous()));
    }
  }

  __device__ __forceinline__ void release_key(TileNote tile, u32 key_stage, u32 query_stage) {
    release(layout.key_ring().empty(key_stage));
    if (tile.last()) release(layout.query_ring(warpgroup).empty(query_stage));
  }

  __device__ __forceinline__ i32 row_in_item() const {
    return static_cast<i32>(warpgroup) * kWarpgroupRows + softmax.lane.first_row;
  }

  __device__ __forceinline__ void issue_scores(u32 key_stage, u32 query_stage) {
    score.pin();
    ptx::matrix_fence();
    issue_score_gemm<Element, Variant::kHeadDim>(score, layout.query(query_stage, warpgroup),
                                                 layout.key(key_stage));
    ptx::matrix_commit();
  }

  __device__ __forceinline__ void scores_now(u32 key_stage, u32 query_stage) {
    issue_scores(key_stage, query_stage);
    score.pin();
    ptx::matrix_wait<0>();
    score.pin();
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

  /// One arrival a warp.
  static __device__ __forceinline__ void release(ptx::Mbarrier empty) {
    if (ptx::thread_in_block() % 32 == 0) ptx::arrive(empty);
  }

  __device__ __forceinline__ void rescale(const float (&factor)[kRowsPerThread]) {
#pragma unroll
    for (int e = 0; e < out.kElements; ++e) out.value[e] *= factor[out.row_slot(e)];
  }

  __device__ __forceinline__ void store_finished() {
    store_item<Variant>(params, layout.item(store_slot), row_in_item(), store_rows, out);
    ptx::sync_warp();
    release(layout.item_ring().empty(store_slot));
    out.clear();
    store_waits = false;
  }
};

}  // namespace tilewright::cuda
