// The fixed order of the additions to dQ: a word per query tile and warpgroup says which key tile
// added last. Warps that would otherwise idle do what takes round trips to memory: one watches the
// words of the tiles that come next and tells the warpgroups when they may add, one more a
// warpgroup passes the word on when all its threads have added.
//
// No deadlock: blocks take their items from a counter, items of a head ascend in keys, so the
// lowest one unfinished never waits.
#pragma once

#include "attention/backward_layout.cuh"
#include "attention/backward_params.cuh"
#include "ptx/global_order.cuh"
#include "ptx/lane.cuh"

namespace tilewright::cuda {

template <class Variant>
struct QueryTurns {
  using Layout = BackwardLayout<Variant>;
  using Slot = RingPosition<Layout::kTurnSlots>;
  /// A turn is looked for when those of all steps but the last two have been passed on, which keeps
  /// both the slots and the notes from being taken too early.
  static constexpr u32 kSlack = 3;
  static_assert(kSlack < Layout::kTurnSlots);

  const BackwardParams& params;
  Layout layout;
  u32 lane;

  /// Of one warp; lane w watches for warpgroup w.
  __device__ __forceinline__ void await() const {
    for (StepCount at{};; at.steps += 1) {
      const auto stage = at.template in_ring<Layout::kQueryStages>();
      layout.query_ring().wait_full(stage);
      const QueryNote note = layout.note(at.steps % Layout::kNotes);
      ptx::sync_warp();
      ptx::arrive_if(lane == 0, layout.query_ring().empty(stage.stage));
      await_passed({at.steps - kSlack}, at.steps < kSlack);
      await_words(note, at.steps % Layout::kTurnSlots);
      if (note.ends_stream()) return;
    }
  }

  /// Of one warp a warpgroup.
  __device__ __forceinline__ void pass(u32 warpgroup) const {
    for (StepCount at{};; at.steps += 1) {
      const Slot slot = at.template in_ring<Layout::kTurnSlots>();
      ptx::wait(layout.turn_used(warpgroup, slot.stage), slot.parity);
      const QueryNote& note = layout.note(at.steps % Layout::kNotes);
      if (note.ends_stream()) return;
      // The release is cumulative: it orders what all threads of the warpgroup have added.
      ptx::store_release_if(lane == 0 && !note.nothing(), word(note) + warpgroup, note.own_turn());
      ptx::sync_warp();
      ptx::arrive_if(lane == 0, layout.turn_passed(warpgroup, slot.stage));
    }
  }

 private:
  __device__ __forceinline__ u32* word(const QueryNote& note) const {
    return params.turns + Layout::query_tile_of(note, params.q_tiles) * Layout::kWarpgroups;
  }

  __device__ __forceinline__ void await_passed(StepCount step, bool none) const {
    if (none) return;
    const Slot slot = step.template in_ring<Layout::kTurnSlots>();
    for (u32 w = 0; w < Layout::kWarpgroups; ++w) {
      ptx::wait(layout.turn_passed(w, slot.stage), slot.parity);
    }
  }

  __device__ __forceinline__ void await_words(const QueryNote& note, u32 slot) const {
    const bool free = note.nothing() || note.ends_stream();
    const u32* const watched = word(note) + lane;
    bool waits = lane < Layout::kWarpgroups;
    while (ptx::any(waits)) {
      if (waits && (free || ptx::load_acquire(watched) == note.turn)) {
        ptx::arrive(layout.turn_come(lane, slot));
        waits = false;
      }
    }
  }
};

}  // namespace tilewright::cuda
