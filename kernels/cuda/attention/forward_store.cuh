// The end of an item: out = products / sum, lse = (reference + log2 sum) ln 2, straight from
// registers to global memory. The four lanes of a row exchange 2-column pieces so that each stores
// 8 contiguous elements (16 bytes).
#pragma once

#include "attention/finished_rows.cuh"
#include "attention/forward_params.cuh"
#include "ptx/matrix_store.cuh"
#include "ptx/vector_memory.cuh"
#include "tile/shared_tile.cuh"
#include "tile/store_row.cuh"

namespace tilewright::cuda {

/// Stores one row of the fragment; called by all lanes, `inside` says whether the row exists.
template <class Element, int kValueDim>
__device__ __forceinline__ void store_row(const Accumulator<kValueDim>& out, int slot, float factor,
                                          u16* row, bool inside) {
  // A row without live pairs is exactly 0 whatever the products hold.
  const auto word = [&](int group) {
    const int e = 4 * group + 2 * slot;
    return factor == 0.0f ? 0u
                          : ptx::pack(Element{}, out.value[e] * factor, out.value[e + 1] * factor);
  };
  store_row_groups<kValueDim / 8>(word, row, inside ? kValueDim / 8 : 0);
}

/// Rows of an item on their way out: row slot 0 of the thread is row_in_item.
struct OutputRows {
  const ForwardParams& params;
  const WorkItem& item;
  i32 row_in_item;
};

template <class Variant>
__device__ __forceinline__ u16* out_head(const ForwardParams& params, const WorkItem& item) {
  const OutputStrides& o = params.out_strides;
  return static_cast<u16*>(params.out) + item.output_slot * o.slot + item.batch * o.batch +
         item.head * o.head;
}

/// lse, and the maximum where it is wanted.
template <class Variant>
__device__ __forceinline__ void store_statistics(const OutputRows& at, const FinishedRows& done) {
  const auto& [params, item, row_in_item] = at;
  const OutputStrides& l = params.lse_strides;
  const i64 head = item.output_slot * l.slot + item.batch * l.batch + item.head * l.head;
#pragma unroll
  for (int slot = 0; slot < kRowsPerThread; ++slot) {
    const i32 row = item.q_begin + row_in_item + 8 * slot;
    if (row >= item.q_end || ptx::thread_in_block() % 4 != 0) continue;
    if (params.lse != nullptr) ptx::store(params.lse + head + row * l.row, done.lse[slot]);
    if constexpr (Variant::kTracksMaximum) {
      ptx::store(params.max_scores + head + row * l.row, done.maximum[slot]);
    }
  }
}

/// The outputs of a warpgroup's rows straight from registers.
template <class Variant>
__device__ __forceinline__ void store_rows(const OutputRows& at, const FinishedRows& done,
                                           const Accumulator<Variant::kValueDim>& out) {
  const auto& [params, item, row_in_item] = at;
  u16* const head = out_head<Variant>(params, item);
#pragma unroll
  for (int slot = 0; slot < kRowsPerThread; ++slot) {
    const i32 row = item.q_begin + row_in_item + 8 * slot;
    store_row<typename Variant::Element>(out, slot, done.inverse_sum[slot],
                                         head + row * params.out_strides.row, row < item.q_end);
  }
}

/// The same by way of a tile in shared memory that nobody else uses: a warp puts its 16 rows there
/// and takes them out again row by row, 16 bytes a lane.
template <class Variant, class Tile>
__device__ __forceinline__ void store_through(const OutputRows& at, const FinishedRows& done,
                                              const Accumulator<Variant::kValueDim>& out,
                                              ptx::SharedAddress tile) {
  const auto& [params, item, row_in_item] = at;
  constexpr int kGroups = Variant::kValueDim / 8;
  const i32 thread = static_cast<i32>(ptx::thread_in_block() % 128);
  const i32 lane = thread % 32, warp_row = thread / 32 * 16;
  const auto word = [&](int group, int slot) {
    const int e = 4 * group + 2 * slot;
    const float factor = done.inverse_sum[slot];
    // A row without live pairs is exactly 0 whatever the products hold.
    return factor == 0.0f ? 0u
                          : ptx::pack(typename Variant::Element{}, out.value[e] * factor,
                                      out.value[e + 1] * factor);
  };
  const ptx::SharedAddress own = tile + static_cast<u32>((warp_row + lane % 16) * kChunkRowBytes);
#pragma unroll
  for (int group = 0; group < kGroups; group += 2) {
    // Of an odd number of groups the last is stored twice.
    const int second = group + 1 < kGroups ? group + 1 : group;
    const i32 g = lane / 16 == 0 ? group : second;
    const i32 offset = g / 8 * Tile::kChunkBytes + (g % 8 ^ lane % 8) * 16;
    ptx::store_matrices(own + static_cast<u32>(offset),
                        {word(group, 0), word(group, 1), word(second, 0), word(second, 1)});
  }
  ptx::sync_warp();
  u16* const head = out_head<Variant>(params, item);
#pragma unroll
  for (int first = 0; first < 16 * kGroups; first += 32) {
    const i32 n = first + lane, r = n / kGroups, g = n % kGroups;
    const i32 offset =
        (warp_row + r) * kChunkRowBytes + g / 8 * Tile::kChunkBytes + (g % 8 ^ r % 8) * 16;
    const i32 row = item.q_begin + row_in_item - lane / 4 + r;
    if (row >= item.q_end || n >= 16 * kGroups) continue;
    ptx::store(head + row * params.out_strides.row + g * 8,
               ptx::load_shared_words4(tile + static_cast<u32>(offset)));
  }
}

}  // namespace tilewright::cuda
