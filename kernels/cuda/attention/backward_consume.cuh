// A consumer warpgroup: its half of every tile of an item. The order of a step keeps matrix
// instructions in flight under everything else.
//
// Keys divided: dQ is a step late (-), so that the warpgroups need not meet, and the matrix
// instructions of a step are issued in turns: while one warpgroup makes P and dS the other's run.
//
//   in flight  dP' | -       | dV dQ- dK S'   | dK S'   | -         |
//   doing      P'  | dS pack | wait dV dQ-    | add dQ- | issue dP' |
//
// Columns divided:
//
//   in flight  dK dP' | -       | dV | dV dQ | dQ S' dK   | dK     |
//   doing      P'     | dS pack | -  | sync  | wait dQ S' | add dQ | issue dP'
#pragma once

#include "attention/backward_extension.cuh"
#include "attention/backward_products.cuh"
#include "attention/key_gradient_store.cuh"
#include "attention/query_gradient_sums.cuh"
#include "attention/tile_gradients.cuh"
#include "attention/tile_site.cuh"
#include "ptx/named_barrier.cuh"

namespace tilewright::cuda {

template <class Variant, class Mods, class Gradient>
struct BackwardConsumer {
  using Layout = BackwardLayout<Variant>;
  using Products = BackwardProducts<Variant>;
  using Site = TileSite<Layout::kSeesKeyWords>;
  using Gradients = TileGradients<Layout, BackwardParams, Site, Mods, Gradient>;
  using Numbers = typename Gradients::Numbers;
  static constexpr bool kReadsAhead = Layout::kReadsAhead;

  const BackwardParams& params;
  const BackwardExtension* extension;
  Layout layout;
  u32 warpgroup;
  Gradients tile_gradients;
  QueryGradientSums<Variant> query_sums;
  Products x{layout,
             warpgroup,
             {FragmentPlace<typename Layout::ScoreTile, Layout::kScoreColumns>::of_thread(
                 Layout::first_key_row(warpgroup), Layout::first_query(warpgroup))}};
  RingPosition<1> kv_at{};
  RingPosition<Layout::kItemSlots> item_at{};
  StepCount at{};            ///< the tile whose P and dS are made
  bool partial = false;      ///< that tile
  Numbers minus_lse, delta;  ///< the first of its queries'

  __device__ __forceinline__ void run() {
    if (Layout::kSplitsKeys && warpgroup == 1) pass_matrix_turn();
    while (!await_tile().ends_stream()) {
      tile_gradients.start_item(item());
      x.d_key.clear();
      x.d_value.clear();
      if (note(at.steps).nothing()) {
        skip_stage();
      } else {
        gradients_of_item();
      }
      const i32 first_row = Layout::first_key_row(warpgroup) + tile_gradients.lane.first_row;
      if constexpr (Variant::kReadsLengths) {
        const i32 live_rows = item().live_end - item().kv_begin - first_row;
        x.d_key.clear_rows_from(live_rows);
        x.d_value.clear_rows_from(live_rows);
      }
      KeyGradientStore<Variant>{params, warpgroup, first_row}.store(item(), x.d_key, x.d_value);
      ptx::sync_warp();
      release(layout.item_ring().empty(item_at.stage));
      item_at.advance();
    }
    query_sums.skip(at);
  }

  __device__ __forceinline__ void gradients_of_item() {
    layout.key_ring().wait_full(kv_at);
    // The zeros must be there before the first product is in flight.
    x.d_key.pin();
    x.d_value.pin();
    x.issue_scores(at.steps);
    layout.value_ring().wait_full(kv_at);
    await_d_out(at);
    x.issue_d_probability(at.steps);
    read_minus_lse();
    ptx::matrix_wait<1>();
    make_probabilities();
    read_delta();
    ptx::matrix_wait<0>();
    x.d_probability.pin();
    if constexpr (Layout::kSplitsKeys) {
      steps_of_split_keys();
    } else {
      steps_of_split_columns();
    }
    release(layout.key_ring().empty(kv_at.stage));
    release(layout.value_ring().empty(kv_at.stage));
    at.steps += 1;
    kv_at.advance();
  }

  __device__ __forceinline__ void steps_of_split_keys() {
    while (true) {
      const u32 step = at.steps;
      make_gradients();
      ptx::sync_warp();
      release(layout.d_score_full(step % Layout::kSides));
      await_matrix_turn();
      x.issue_value_product(step);
      x.issue_key_product(step);
      // Of an item's first step dQ is of another item, and dropped: a product issued in a branch
      // would keep all products from overlapping. So are the scores behind its last tile.
      await_d_score({step - 1});
      x.issue_query_product(step - 1);
      const bool first = note(step).first(), last = note(step).last();
      float* sums = nullptr;
      if constexpr (kReadsAhead) {
        sums = query_sums.place(note(step - 1));
        go_on(last);
      }
      ptx::matrix_wait<1>();
      finish_value(step);
      finish_key(step);
      if constexpr (!kReadsAhead) go_on(last);
      x.issue_scores(at.steps);
      pass_matrix_turn();
      ptx::matrix_wait<1>();
      x.d_query.pin();
      if (!first) {
        if constexpr (!kReadsAhead) sums = query_sums.place(note(step - 1));
        query_sums.add(x.d_query, sums, {step - 1});
      }
      read_minus_lse();
      ptx::matrix_wait<0>();
      x.score.pin();
      if (last) break;
      if constexpr (!kReadsAhead) await_d_out(at);
      x.issue_d_probability(at.steps);
      make_probabilities();
      read_delta();
      ptx::matrix_wait<0>();
      x.d_probability.pin();
    }
    await_d_score(at);
    x.issue_query_product(at.steps);
    ptx::matrix_wait<0>();
    x.d_query.pin();
    query_sums.add(x.d_query, query_sums.place(note(at.steps)), at);
  }

  __device__ __forceinline__ void steps_of_split_columns() {
    while (true) {
      const u32 step = at.steps;
      make_gradients();
      ptx::sync(ptx::NamedBarrier{1, Layout::kConsumerThreads});
      x.issue_value_product(step);
      x.issue_query_product(step);
      ptx::matrix_wait<1>();
      finish_value(step);
      const bool last = note(step).last();
      go_on(last);
      x.issue_scores(at.steps);
      x.issue_key_product(step);
      ptx::matrix_wait<1>();
      x.score.pin();
      x.d_query.pin();
      query_sums.add(x.d_query, query_sums.place(note(step)), {step});
      if (last) break;
      await_d_out(at);
      x.issue_d_probability(at.steps);
      make_probabilities();
      ptx::matrix_wait<0>();
      x.d_probability.pin();
      finish_key(step);
    }
    ptx::matrix_wait<0>();
    finish_key(at.steps);
  }

  /// Goes on to the next tile and waits for it. Behind the last one there is nothing to wait for: a
  /// stage that was given back may have been filled and its phase be over.
  __device__ __forceinline__ void go_on(bool last) {
    at.steps += last ? 0 : 1;
    if (last) return;
    await_tile();
    if constexpr (kReadsAhead) await_d_out(at);
  }

  __device__ __forceinline__ void await_d_out(StepCount step) const {
    layout.grad_ring().wait_full(step.template in_ring<Layout::kGradStages>());
  }

  /// S of the tile is there: P, while what was issued after S runs.
  __device__ __forceinline__ void make_probabilities() {
    x.score.pin();
    const QueryNote& tile = note(at.steps);
    partial = tile.partial();
    if (tile.new_stream()) start_stream(tile.stream);
    if constexpr (!Gradients::kNeedsScore) {
      if (!kReadsAhead) read_numbers(minus_lse, site().minus_lse);
      if (partial) {
        tile_gradients.template to_probabilities<true>(x.score, site(), minus_lse);
      } else {
        tile_gradients.template to_probabilities<false>(x.score, site(), minus_lse);
      }
    }
  }

  __device__ __forceinline__ void start_stream(i32 stream) {
    const i32 batch = Variant::kReadsLengths ? stream / params.extents.query_heads : 0;
    tile_gradients.start_stream(stream, live_end<Variant::kReadsLengths>(extension, item(), batch));
  }

  /// What lies in shared memory is read while products run.
  __device__ __forceinline__ void read_minus_lse() {
    if (kReadsAhead) read_numbers(minus_lse, site().minus_lse);
  }
  __device__ __forceinline__ void read_delta() {
    if (kReadsAhead) read_numbers(delta, site().delta);
  }
  __device__ __forceinline__ void read_numbers(Numbers& numbers, ptx::SharedAddress row) const {
    if constexpr (!Gradients::kNeedsScore) numbers = tile_gradients.first_numbers(row);
  }

  /// P and dS of the tile, in registers and where the warpgroups share them.
  __device__ __forceinline__ void make_gradients() {
    if (!kReadsAhead) read_numbers(delta, site().delta);
    // Packed in both branches: where they join there are no registers for what is packed.
    if (partial) {
      tile_gradients.template to_gradients<true>(x.score, x.d_probability, site(), delta);
      x.pack_scores();
    } else {
      tile_gradients.template to_gradients<false>(x.score, x.d_probability, site(), delta);
      x.pack_scores();
    }
    x.store_scores(at.steps);
  }

  /// dV of a step is there.
  __device__ __forceinline__ void finish_value(u32 step) {
    x.d_value.pin();
    Products::pin(x.probability);
    release(layout.grad_ring().empty(step % Layout::kGradStages));
  }

  /// dK of a step is there.
  __device__ __forceinline__ void finish_key(u32 step) {
    x.d_key.pin();
    if constexpr (Layout::kSplitsKeys) Products::pin(x.d_score);
    release(layout.query_ring().empty(step % Layout::kQueryStages));
  }

  /// Both warpgroups have stored their dS of a step.
  __device__ __forceinline__ void await_d_score(StepCount step) const {
    const RingPosition<Layout::kSides> side = step.template in_ring<Layout::kSides>();
    ptx::wait(layout.d_score_full(side.stage), side.parity);
  }

  __device__ __forceinline__ void await_matrix_turn() const {
    ptx::sync(ptx::NamedBarrier{4 + warpgroup, Layout::kConsumerThreads});
  }
  __device__ __forceinline__ void pass_matrix_turn() const {
    ptx::arrive(ptx::NamedBarrier{5 - warpgroup, Layout::kConsumerThreads});
  }

  /// A note without a tile.
  __device__ __forceinline__ void skip_stage() {
    await_d_out(at);
    release(layout.query_ring().empty(at.steps % Layout::kQueryStages));
    release(layout.grad_ring().empty(at.steps % Layout::kGradStages));
    if constexpr (Layout::kSplitsKeys) release(layout.d_score_full(at.steps % Layout::kSides));
    query_sums.skip(at);
    at.steps += 1;
  }

  __device__ __forceinline__ const QueryNote& await_tile() {
    layout.query_ring().wait_full(at.template in_ring<Layout::kQueryStages>());
    return note(at.steps);
  }

  __device__ __forceinline__ const QueryNote& note(u32 step) const {
    return layout.note(step % Layout::kNotes);
  }
  __device__ __forceinline__ const BackwardItem& item() const { return layout.item(item_at.stage); }

  __device__ __forceinline__ Site site() const {
    return {note(at.steps), layout.tile_keys(at.steps % Layout::kQueryStages), item(),
            layout.minus_lse(at.steps % Layout::kQueryStages),
            layout.delta(at.steps % Layout::kGradStages)};
  }

  /// One arrival a warp.
  static __device__ __forceinline__ void release(ptx::Mbarrier empty) {
    ptx::arrive_if(ptx::thread_in_block() % 32 == 0, empty);
  }
};

}  // namespace tilewright::cuda
