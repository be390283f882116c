// dQ on its way to the workspace, where every key tile adds its share in fp32.
//
// A tile's sums lie in the order of fragments: each addition of a warp is 512 contiguous bytes, and
// what a thread adds to is what a thread of the finishing kernel reads. Free-running variants add
// in whatever order blocks come. Deterministic ones add key tile by key tile, when query_turns.cuh
// lets them.
#pragma once

#include "attention/backward_layout.cuh"
#include "attention/backward_params.cuh"
#include "ptx/lane.cuh"
#include "ptx/vector_memory.cuh"

namespace tilewright::cuda {

template <class Variant>
struct QueryGradientSums {
  using Layout = BackwardLayout<Variant>;
  using Sums = Accumulator<Layout::kSumColumns>;
  static constexpr int kChunks = Layout::KeyHalves::kChunks;

  const BackwardParams& params;
  Layout layout;
  u32 warpgroup;

  /// Where the thread's sums of a tile go.
  __device__ __forceinline__ float* place(const QueryNote& note) const {
    const u32 thread = ptx::thread_in_block() % 128;
    return params.d_query_sums + Layout::query_tile_of(note, params.q_tiles) * Layout::kSumFloats +
           (warpgroup * 128 * Sums::kElements + thread * 4);
  }

  /// dQ of a step.
  __device__ __forceinline__ void add(const Sums& sums, float* to, StepCount step) const {
    await_turn(step);
#pragma unroll
    for (int e = 0; e < Sums::kElements; e += 4) {
      const int chunk = e / (kChunkColumns / 2);
      if (!exists(chunk)) continue;
      ptx::add_in_memory(to + e * 128,
                         {sums.value[e], sums.value[e + 1], sums.value[e + 2], sums.value[e + 3]});
    }
    end_turn(step);
  }

  /// Whether this warpgroup's chunk of 64 columns lies inside the head dim.
  __device__ __forceinline__ bool exists(int chunk) const {
    if constexpr (Layout::kSumsByRows) return true;
    return static_cast<int>(warpgroup) * Layout::KeyHalves::kOwnChunks + chunk < kChunks;
  }

  /// A step without a tile.
  __device__ __forceinline__ void skip(StepCount step) const {
    await_turn(step);
    end_turn(step);
  }

 private:
  __device__ __forceinline__ void await_turn(StepCount step) const {
    if constexpr (Layout::kOrdered) {
      const RingPosition<Layout::kTurnSlots> slot = step.template in_ring<Layout::kTurnSlots>();
      ptx::wait(layout.turn_come(warpgroup, slot.stage), slot.parity);
    }
  }

  __device__ __forceinline__ void end_turn(StepCount step) const {
    if constexpr (Layout::kOrdered) {
      ptx::sync_warp();
      ptx::arrive_if(ptx::thread_in_block() % 32 == 0,
                     layout.turn_used(warpgroup, step.steps % Layout::kTurnSlots));
    }
  }
};

}  // namespace tilewright::cuda
