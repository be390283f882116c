// The fixed order of the portable family's additions to dQ: a word per query tile says which key
// tile added last. A block waits until the one before it has added, and passes the word on behind
// the next barrier, when the additions of all its warps have been performed.
//
// No deadlock: blocks take their items from a counter, items of a head ascend in keys, so the
// lowest one unfinished never waits.
#pragma once

#include "attention/portable_backward_layout.cuh"
#include "ptx/global_order.cuh"

namespace tilewright::cuda {

template <bool kOrdered>
struct QueryTurn {
  u32* held = nullptr;  ///< the word to be passed on
  u32 own_turn = 0;     ///< 1 + this item's key tile

  __device__ __forceinline__ void start_item(i32 key_tile) {
    own_turn = static_cast<u32>(key_tile) + 1;
  }

  /// Every thread looks for itself: what it acquires orders its own additions.
  __device__ __forceinline__ void await(u32* turns, i64 tile, const QueryVisit& visit) {
    if constexpr (kOrdered) {
      if (visit.has(QueryVisit::kWaits)) ptx::await_word(turns + tile * 2, visit.turn);
      if (visit.has(QueryVisit::kPasses)) held = turns + tile * 2;
    }
  }

  /// In front of the block's barrier.
  __device__ __forceinline__ void flush() const {
    if constexpr (kOrdered) ptx::fence_device();
  }

  /// Behind it.
  __device__ __forceinline__ void pass() {
    if constexpr (kOrdered) {
      if (held == nullptr) return;
      ptx::store_release_if(ptx::thread_in_block() == 0, held, own_turn);
      held = nullptr;
    }
  }
};

/// The item that a block works on. Where additions have a fixed order, the order in which blocks
/// come is that of a counter, zero again when all have come.
template <bool kOrdered>
__device__ __forceinline__ i32 item_of_block(const BackwardSchedule& schedule) {
  if constexpr (kOrdered) {
    const u32 last = static_cast<u32>(schedule.items) - 1;
    return static_cast<i32>(ptx::count_up_wrapping(schedule.counters, last));
  } else {
    return static_cast<i32>(ptx::block_in_grid());
  }
}

}  // namespace tilewright::cuda
