// dQ on its way to the workspace, where every key tile adds its share in fp32.
//
// A tile's sums lie in the order of fragments: each addition of a warp is 512 contiguous bytes, and
// what a thread adds to is what a thread of the finishing kernel reads. Free-running variants add
// in whatever order blocks come. Deterministic ones wait until the key tile before theirs has added
// (a word per query tile and warpgroup says who did last): fixed order, fixed bits. The word is
// passed on one step late, when the additions have long been performed.
#pragma once

#include "attention/backward_layout.cuh"
#include "attention/backward_params.cuh"
#include "ptx/global_order.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/vector_memory.cuh"

namespace tilewright::cuda {

template <class Variant>
struct QueryGradientSums {
  using Layout = BackwardLayout<Variant>;
  using Sums = Accumulator<Layout::kSumColumns>;
  static constexpr int kChunks = Layout::KeyHalves::kChunks;

  const BackwardParams& params;
  u32 warpgroup;
  ptx::NamedBarrier together;  ///< of the warpgroup alone
  u32* held = nullptr;         ///< the word to be passed on
  u32 own_turn = 0;            ///< 1 + this item's key tile

  __device__ __forceinline__ void start_item(const BackwardItem& item) {
    own_turn = static_cast<u32>(item.kv_begin / Layout::kKeyTile) + 1;
  }

  /// Where the thread's sums of a tile go.
  __device__ __forceinline__ float* place(const QueryNote& note) const {
    const u32 thread = ptx::thread_in_block() % 128;
    return params.d_query_sums + tile_of(note) * Layout::kSumFloats +
           (warpgroup * 128 * Sums::kElements + thread * 4);
  }

  __device__ __forceinline__ void add(const Sums& sums, float* to, const QueryNote& note) {
    if constexpr (Variant::kDeterministic) {
      await_turn(params.turns + tile_of(note) * 2 + warpgroup, note);
    }
#pragma unroll
    for (int e = 0; e < Sums::kElements; e += 4) {
      const int chunk = e / (kChunkColumns / 2);
      if (!exists(chunk)) continue;
      ptx::add_in_memory(to + e * 128,
                         {sums.value[e], sums.value[e + 1], sums.value[e + 2], sums.value[e + 3]});
    }
  }

  /// Whether this warpgroup's chunk of 64 columns lies inside the head dim.
  __device__ __forceinline__ bool exists(int chunk) const {
    if constexpr (Layout::kSumsByRows) return true;
    return static_cast<int>(warpgroup) * Layout::KeyHalves::kOwnChunks + chunk < kChunks;
  }

  /// After the last addition of an item.
  __device__ __forceinline__ void finish_item() {
    if constexpr (Variant::kDeterministic) pass();
  }

 private:
  __device__ __forceinline__ i64 tile_of(const QueryNote& note) const {
    return static_cast<i64>(note.stream) * params.q_tiles + note.q_begin / Layout::kQueryTile;
  }

  /// Every thread looks for itself: what it acquires orders its own additions.
  __device__ __forceinline__ void await_turn(u32* word, const QueryNote& note) {
    pass();
    ptx::await_word(word, note.turn);
    held = word;
  }

  __device__ __forceinline__ void pass() {
    if (held == nullptr) return;
    // The release is cumulative: it orders what all threads that met here have added.
    ptx::sync(together);
    ptx::store_release_if(ptx::thread_in_block() % 128 == 0, held, own_turn);
    held = nullptr;
  }
};

}  // namespace tilewright::cuda
