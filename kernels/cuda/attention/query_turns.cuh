// The fixed order of the additions to dQ: a word per query tile and warpgroup says which key tile
// added last. Warps that would otherwise idle do what takes round trips to memory: one watches the
// words of the tiles that come next and tells the warpgroups when they may add, one passes words on
// when all threads of a warpgroup have added.
//
// No deadlock: blocks take their items from a counter, those of a head in the order of additions,
// so the first one unfinished never waits.
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
  /// How many steps may lie between the one whose turn is looked for and the last one whose turn
  /// has been passed on: fewer than there are slots, and a note is overwritten kNotes steps later,
  /// when its stage has been given back kQueryStages before.
  static constexpr u32 kSlack = Layout::kNotes - Layout::kQueryStages;
  static_assert(kSlack < Layout::kTurnSlots);

  const BackwardParams& params;
  Layout layout;
  u32 lane;

  /// Of one warp; lane w watches for warpgroup w.
  __device__ __forceinline__ void await() const {
    for (StepCount at{};; at.steps += 1) {
      const auto stage = at.template in_ring<Layout::kQueryStages>();
      if (at.steps >= kSlack) await_passed({at.steps - kSlack});
      layout.query_ring().wait_full(stage);
      const QueryNote note = layout.note(at.steps % Layout::kNotes);
      ptx::sync_warp();
      ptx::arrive_if(lane == 0, layout.query_ring().empty(stage.stage));
      await_words(note, at.steps % Layout::kTurnSlots);
      if (note.ends_stream()) return;
    }
  }

  /// Of one warp; each lane passes on the turns of one slot of one warpgroup. A fence takes long,
  /// and covers what all of them have to pass on by then.
  __device__ __forceinline__ void pass() const {
    const u32 warpgroup = lane % Layout::kWarpgroups, slot = lane / Layout::kWarpgroups;
    bool works = slot < Layout::kTurnSlots;
    u32 parity = 0;
    for (u32 ended = 0; ended < Layout::kWarpgroups;) {
      const bool ready = works && ptx::phase_done_now(layout.turn_used(warpgroup, slot), parity);
      if (!ptx::any(ready)) continue;
      ptx::fence_device();
      bool ends = false;
      if (ready) {
        const QueryNote note = layout.note(slot);
        ends = note.ends_stream();
        if (!ends && !note.nothing()) ptx::store_relaxed(word(note) + warpgroup, note.own_turn());
        ptx::arrive(layout.turn_passed(warpgroup, slot));
        parity ^= 1;
        works = !ends;
      }
      ended += ptx::count_bits(ptx::ballot(ends));
    }
  }

 private:
  __device__ __forceinline__ u32* word(const QueryNote& note) const {
    return params.turns + Layout::query_tile_of(note, params.q_tiles) * Layout::kWarpgroups;
  }

  __device__ __forceinline__ void await_passed(StepCount step) const {
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
