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
#include "attention/tile_products.cuh"
#include "attention/tile_softmax.cuh"
#include "pipeline/ping_pong.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods>
struct ForwardConsumer {
  using Layout = ForwardLayout<Variant>;
  static constexpr int kKeyTile = Variant::kKeyTile;
  static constexpr bool kDefersCheck = Variant::kDefersCheck && !Variant::kTracksMaximum;
  /// With a single query stage a deferred check would hold up the next item: its last tile must be
  /// right at once.
  static constexpr bool kLastIsPlain = !kDefersCheck || Layout::kQueryStages > 1;
  /// A score_mod's exponents would have to be there before the mask is: too much for the plain
  /// loop.
  static constexpr bool kPartialIsPlain = !TileSoftmax<Variant, Mods>::kExponentsFirst;
  /// What is kept of a tile is found before the turn is asked for, while another warpgroup has the
  /// tensor cores, but for intervals at small head dims: those cost less than the short chain of a
  /// step there gains from finding them under its own scores.
  static constexpr bool kFindsEarly = Variant::kHeadDim > 64 ||
                                      KeptPairs<Mods, kKeyTile>::kHasSorted ||
                                      KeptPairs<Mods, kKeyTile>::kHasPairs;
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

  TileProducts<Variant> products;

  __device__ __forceinline__ void run() {
    const TileNote tile = await_key();
    turns.start();
    if (!tile.ends_stream()) {
      products.out.clear();
      softmax.rows.reset();
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
      if (!has_turn && !next.ends_stream() && plain_steps(tile, next)) return true;
      if (next.first()) await_query();
      if (kFindsEarly) {
        if (next.first()) open_item(next);
        softmax.find_live(next);
      }
      if (!has_turn) {
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
    open_item(tile);
    softmax.load_tile(tile);
    softmax.find_live(tile);
    issue_scores(again ? key_at.previous() : key_at.stage,
                 again ? held_query(tile) : query_at.stage);
    products.await_all_scores();
    ptx::sync_warp();
    if (!kDefersCheck) release_key(tile, key_at.stage, query_at.stage);
    float factor[kRowsPerThread];
    const bool rescales = softmax.to_probabilities(products.score, tile, factor);
    if (!again) {
      end_step(tile);
      return;
    }
    if (rescales) products.rescale(factor);
    softmax.rows.pack(products.score, products.probability);
  }

  /// Steps over full tiles inside an item, the loop in which a kernel spends its time. Each issues
  /// the scores of `next` and the product of `tile`, and turns those scores into probabilities
  /// meanwhile. Ends at a tile that is not plain (false), or with the turn when an alarm is found
  /// (true).
  __device__ __forceinline__ bool plain_steps(TileNote& tile, TileNote& next) {
    while ((next.flags & kNotPlain) == 0) {
      await_turn();
      issue_scores(key_at.stage, query_at.stage);
      // Asked under scores that were issued already: the tensor cores would wait for the answer.
      if (kDefersCheck && alarm.raised()) {
        products.await_all_scores();
        return true;
      }
      softmax.load_tile(next);
      issue_product(tile);
      await_scores(next);
      softmax.add_tile_sum();
      float factor[kRowsPerThread];
      const bool rescales = !kDefersCheck && softmax.raise(products.score, next, factor);
      softmax.exponentiate(products.score, next, softmax.kExponentsFirst && !kDefersCheck);
      // Without deferral this never happens but for NaN, and nobody reads the alarm; it still keeps
      // the exponentials in front of the wait for the product that runs beside them.
      if (!softmax.warp_in_range()) alarm.raise();
      finish_value();
      if (rescales) products.rescale(factor);
      end_step(next);
      tile = next;
      next = await_key();
    }
    return false;
  }

  /// A step that may cross items, mask or store, with the turn; looks for the maximum of `next`.
  /// The tensor cores work on the scores between the two products: what needs no scores is done
  /// there.
  __device__ __forceinline__ void any_step(TileNote tile, TileNote next) {
    issue_scores(key_at.stage, query_at.stage);
    softmax.add_tile_sum();
    FinishedRows rows{};
    const u32 held_stage = query_at.previous();
    if (tile.last()) {
      rows = finish_rows(softmax.rows);
      softmax.rows.reset();
      if (!kFindsEarly) open_item(next);
    }
    softmax.load_tile(next);
    if (!kFindsEarly) softmax.find_live(next);
    issue_product(tile);
    await_scores(next);
    float factor[kRowsPerThread];
    const bool rescales = softmax.to_probabilities(products.score, next, factor);
    // Nobody needs the answer: asking keeps the exponentials in front of the wait for the product
    // that runs beside them.
    if (!softmax.warp_in_range()) alarm.stay_silent();
    finish_value();
    if (rescales && !tile.last()) products.rescale(factor);
    end_step(next);
    if (tile.last()) {
      store(tile.item_slot(), rows, held_stage);
      products.out.clear();
    }
  }

  /// What mods read of the rows of a tile's item.
  __device__ __forceinline__ void open_item(TileNote tile) {
    softmax.item.load(softmax.bindings, layout.item(tile.item_slot()), row_in_item());
  }

  /// The product of `tile`, whose probabilities are known to be right now.
  __device__ __forceinline__ void issue_product(TileNote tile) {
    if (kDefersCheck) release_held_key(tile);
    layout.value_ring().wait_full(value_at);
    products.issue_value(layout.value(value_at.stage));
    turns.pass_turn();
  }

  /// The scores that were issued before the product.
  __device__ __forceinline__ void await_scores(TileNote next) {
    products.await_scores();
    if (!kDefersCheck) release_key(next, key_at.stage, query_at.stage);
  }

  /// `tile` has become probabilities.
  __device__ __forceinline__ void end_step(TileNote tile) {
    softmax.rows.pack(products.score, products.probability);
    key_at.advance();
    if (tile.last()) {
      if (!kLastIsPlain) release_query(query_at.stage);
      query_at.advance();
    }
    alarm.next_step();
  }

  /// The product of the last tile of all, with the turn.
  __device__ __forceinline__ void close_stream(TileNote tile) {
    issue_product(tile);
    softmax.add_tile_sum();
    finish_value();
    store(tile.item_slot(), finish_rows(softmax.rows), query_at.previous());
  }

  /// A barrier of at least this warpgroup: alarms raised before it are seen after it.
  __device__ __forceinline__ void await_turn() const {
    if constexpr (Variant::kPingPong) {
      turns.await_turn();
    } else {
      ptx::sync(alarm.together);
    }
  }

  /// All lanes read the note; a barrier of the warpgroup, or one of the warp, comes before the lane
  /// that releases the stage arrives for all of them.
  __device__ __forceinline__ TileNote await_key() {
    layout.key_ring().wait_full(key_at);
#if TILEWRIGHT_NOTES_BY_ONE_LANE
    TileNote note = {0, 0};
    if (ptx::thread_in_block() % 32 == 0) note = layout.note(key_at.stage);
    return {static_cast<i32>(ptx::broadcast(static_cast<u32>(note.kv_begin), 0)),
            ptx::broadcast(note.flags, 0)};
#else
    return layout.note(key_at.stage);
#endif
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
    if (kLastIsPlain && tile.last()) release_query(query_at.previous());
  }

  __device__ __forceinline__ void release_key(TileNote tile, u32 key_stage, u32 query_stage) {
    release(layout.key_ring().empty(key_stage));
    if (tile.last()) release_query(query_stage);
  }

  /// Where the outputs take its place first, store() releases the query.
  __device__ __forceinline__ void release_query(u32 stage) {
    if (!Layout::kStagesOut) release(layout.query_ring(warpgroup).empty(stage));
  }

  __device__ __forceinline__ i32 row_in_item() const {
    return static_cast<i32>(warpgroup) * kWarpgroupRows + softmax.lane.first_row;
  }

  __device__ __forceinline__ void issue_scores(u32 key_stage, u32 query_stage) {
    products.issue_scores(layout.query(query_stage, warpgroup), layout.key(key_stage));
  }

  __device__ __forceinline__ void finish_value() {
    products.await_value();
    release(layout.value_ring().empty(value_at.stage));
    value_at.advance();
  }

  /// One arrival a warp, without a branch: matrix instructions may come next.
  static __device__ __forceinline__ void release(ptx::Mbarrier empty) {
    ptx::arrive_if(ptx::thread_in_block() % 32 == 0, empty);
  }

  /// Outputs and statistics of a finished item; its query lay in `query_stage`.
  __device__ __forceinline__ void store(u32 slot, const FinishedRows& rows, u32 query_stage) {
    const OutputRows at = {params, layout.item(slot), row_in_item()};
    store_statistics<Variant>(at, rows);
    if constexpr (Layout::kStagesOut) {
      store_through<Variant, typename Layout::QueryTile>(at, rows, products.out,
                                                         layout.query(query_stage, warpgroup));
      ptx::fence_async_shared();
      ptx::sync_warp();
      release(layout.query_ring(warpgroup).empty(query_stage));
    } else {
      store_rows<Variant>(at, rows, products.out);
      ptx::sync_warp();
    }
    release(layout.item_ring().empty(slot));
  }
};

}  // namespace tilewright::cuda
