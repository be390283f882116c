// From the terms of a tile to the captured tensor: terms whose element depends on the row, the
// column or the diagonal alone are summed first, then entries that share an element, then one
// addition in memory an element. Every sum has one order.
#pragma once

#include "attention/capture_layout.cuh"
#include "ptx/lane.cuh"
#include "ptx/named_barrier.cuh"

namespace tilewright::cuda {

/// Entry `entry` of a tile whose terms lie in shared memory: a row, a column, a diagonal or all.
template <class Layout>
struct TileEntries {
  const Layout& layout;

  __device__ __forceinline__ float row_sum(i32 row) const {
    const float* term = layout.terms() + row * Layout::kPitch;
    float sum = 0.0f;
#pragma unroll 8
    for (int c = 0; c < Layout::kKeyTile; ++c) sum += term[c];
    return sum;
  }

  __device__ __forceinline__ float column_sum(i32 column) const {
    const float* term = layout.terms() + column;
    float sum = 0.0f;
#pragma unroll 8
    for (int r = 0; r < Layout::kQueryTile; ++r) sum += term[r * Layout::kPitch];
    return sum;
  }

  /// Diagonal 0 is that of the first row and the last column.
  __device__ __forceinline__ float diagonal_sum(i32 diagonal) const {
    const i32 offset = diagonal - (Layout::kKeyTile - 1);
    const i32 first_row = max(offset, 0);
    const i32 end_row = min(Layout::kQueryTile, Layout::kKeyTile + offset);
    const float* term = layout.terms() + first_row * Layout::kPitch + first_row - offset;
    float sum = 0.0f;
#pragma unroll 4
    for (i32 row = first_row; row < end_row; ++row, term += Layout::kPitch + 1) sum += *term;
    return sum;
  }
};

/// Whether an entry before this one goes anywhere.
template <class Layout>
__device__ __forceinline__ bool any_before(const Layout& layout, i32 thread) {
  for (i32 other = 0; other < thread; ++other) {
    if (layout.places()[other] >= 0) return true;
  }
  return false;
}

/// Adds entry sums, one a thread, to elements of `to`; place -1 goes nowhere. Called by the whole
/// block.
template <class Layout>
__device__ __forceinline__ void add_entries(const Layout& layout, float* to, i64 place, float sum,
                                            bool distinct) {
  const i32 thread = static_cast<i32>(ptx::thread_in_block());
  if (distinct) {
    if (place >= 0) to[place] += sum;
    return;
  }
  layout.places()[thread] = place;
  layout.sums()[thread] = sum;
  ptx::sync_block();
  // Elements in ascending or descending order meet nowhere; neighbours tell.
  const i64 before = thread > 0 ? layout.places()[thread - 1] : -1;
  const bool is_pair = place >= 0 && before >= 0;
  const bool gap = thread > 0 && before < 0 && place >= 0;
  const ptx::NamedBarrier all = {0, Layout::kThreads};
  const bool has_gap = ptx::sync_any(all, gap && any_before(layout, thread));
  const bool falls = ptx::sync_any(all, is_pair && before >= place);
  const bool rises = ptx::sync_any(all, is_pair && before <= place);
  if (!has_gap && !(falls && rises)) {
    if (place >= 0) to[place] += sum;
    return;
  }
  for (i32 other = 0; other < thread; ++other) {
    if (layout.places()[other] == place) return;
  }
  if (place < 0) return;
  for (i32 other = thread + 1; other < Layout::kThreads; ++other) {
    if (layout.places()[other] == place) sum += layout.sums()[other];
  }
  to[place] += sum;
}

/// Adds every term of a tile to the element of its pair, by one warp, pair after pair in row-major
/// order: 32 at a time, of which those that share an element are added by the first.
template <class Layout>
__device__ __forceinline__ void add_pairs_in_order(const Layout& layout, float* to) {
  const u32 thread = ptx::thread_in_block();
  if (thread >= 32) return;
#pragma unroll 1
  for (i32 step = 0; step < Layout::kQueryTile * Layout::kKeyTile / 32; ++step) {
    const i32 row_at =
        step / (Layout::kKeyTile / 32) * Layout::kPitch + step % (Layout::kKeyTile / 32) * 32;
    const i32 place = layout.pair_places()[row_at + static_cast<i32>(thread)];
    const u32 same = ptx::lanes_with(static_cast<u32>(place));
    if (place >= 0 && ptx::lowest_bit(same) == thread) {
      float sum = 0.0f;
      for (u32 left = same; left != 0; left &= left - 1) {
        sum += layout.terms()[row_at + static_cast<i32>(ptx::lowest_bit(left))];
      }
      to[place] += sum;
    }
    ptx::sync_warp();
  }
}

}  // namespace tilewright::cuda
