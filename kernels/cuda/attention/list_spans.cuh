// FlexAttention block lists as lists of key spans, made on the device at each call so that a
// replayed graph reads the lists anew.
//
// Input      counts [B or 1, H or 1, q blocks] and indices [B or 1, H or 1, q blocks, n], i32, of
// tiles
//            where mask_mod decides and of full ones; sets: order and repetition do not matter,
//            full wins; entries past a count are never read.
// Output     list n = (b * heads + h) * q_blocks + block: spans[ranges[n].first] up to
//            spans[ranges[n].last], ascending, one a run of listed tiles of a kind, clipped to the
//            keys.
// Launch     a block of 256 threads a list. Tiles are taken 8192 at a time as bits in shared
// memory:
//            every thread sets the bits of some entries, then owns the 32 tiles of one word.
// Memory     shared: two bit sets and the counts of the words before each, 3 KB.
#pragma once

#include "attention/portable_params.cuh"
#include "ptx/lane.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/numbers.cuh"
#include "ptx/shared_address.cuh"

namespace tilewright::cuda {

/// One list of tiles for each (b, h, query block); strides in elements.
struct TileLists {
  const i32* counts;  ///< null: no tile at all
  const i32* indices;
  i64 count_strides[3];
  i64 index_strides[4];
  i64 columns;  ///< entries that `indices` has room for
};

/// The host fills it; src/backends/cuda/launch/list_launch.h mirrors it.
struct ListParams {
  TileLists partial;
  TileLists full;
  KeySpan* spans;
  SpanRange* ranges;
  i64 capacity;  ///< spans a list has room for
  i32 heads;
  i32 q_blocks;
  i32 kv_blocks;
  i32 kv_block;  ///< tokens
  i32 kv_rows;
  i32 reserved;
};

inline constexpr u32 kListThreads = 256;
inline constexpr i32 kTilesAtOnce = 32 * kListThreads;

struct ListRow {
  i64 batch, head, block;
};

/// Sets the bits of a list's tiles in [begin, begin + kTilesAtOnce).
__device__ __forceinline__ void mark_tiles(const TileLists& lists, const ListRow& row,
                                           i32 kv_blocks, i32 begin, u32* bits) {
  if (lists.counts == nullptr) return;
  const i64 told =
      lists.counts[row.batch * lists.count_strides[0] + row.head * lists.count_strides[1] +
                   row.block * lists.count_strides[2]];
  const i64 count = told < lists.columns ? told : lists.columns;
  const i32* const indices = lists.indices + row.batch * lists.index_strides[0] +
                             row.head * lists.index_strides[1] + row.block * lists.index_strides[2];
  for (i64 n = ptx::thread_in_block(); n < count; n += kListThreads) {
    const i32 tile = indices[n * lists.index_strides[3]];
    if (tile < begin || tile >= kv_blocks || tile >= begin + kTilesAtOnce) continue;
    atomicOr(bits + (tile - begin) / 32, 1u << (tile - begin) % 32);
  }
}

/// The sum of `mine` over the threads before this one, and over all of them.
struct PrefixSum {
  u32 before;
  u32 all;
};
__device__ __forceinline__ PrefixSum prefix_sum(u32 mine, u32* sums) {
  const u32 thread = ptx::thread_in_block();
  sums[thread] = mine;
  ptx::sync_block();
  for (u32 step = 1; step < kListThreads; step *= 2) {
    const u32 other = thread >= step ? sums[thread - step] : 0;
    ptx::sync_block();
    sums[thread] += other;
    ptx::sync_block();
  }
  const PrefixSum result = {sums[thread] - mine, sums[kListThreads - 1]};
  ptx::sync_block();
  return result;
}

/// Bits of the tiles of a thread's word with which a run begins: listed, and the tile before is not
/// listed or of the other kind. A run never crosses what is looked at together.
__device__ __forceinline__ u32 run_begins(const u32* listed, const u32* full, u32 thread) {
  const u32 tiles = listed[thread], kinds = full[thread];
  const u32 tile_before = thread == 0 ? 0 : listed[thread - 1] >> 31;
  const u32 kind_before = thread == 0 ? 0 : full[thread - 1] >> 31;
  const u32 joined = (tiles << 1 | tile_before) & ~(kinds ^ (kinds << 1 | kind_before));
  return tiles & ~joined;
}

/// The tile behind the run that begins with bit `bit` of word `word`.
__device__ __forceinline__ i32 run_end(const u32* listed, const u32* full, u32 word, u32 bit) {
  const u32 kind = full[word] >> bit & 1;
  u32 from = bit;
  while (word < kListThreads) {
    const u32 same = listed[word] & (kind != 0 ? full[word] : ~full[word]);
    const u32 others = ~same & ~ptx::low_bits(from);
    if (others != 0) return static_cast<i32>(word * 32 + ptx::lowest_bit(others));
    from = 0;
    ++word;
  }
  return kTilesAtOnce;
}

/// The body of a kernel of kListThreads threads.
__device__ __forceinline__ void build_list_spans(const ListParams& params) {
  __shared__ u32 listed[kListThreads];
  __shared__ u32 full[kListThreads];
  __shared__ u32 sums[kListThreads];
  const u32 thread = ptx::thread_in_block();
  const i64 list = ptx::block_in_grid();
  const i64 bh = list / params.q_blocks;
  const ListRow row = {bh / params.heads, bh % params.heads, list % params.q_blocks};
  const i64 first = list * params.capacity;
  i64 end = first;
  for (i32 begin = 0; begin < params.kv_blocks; begin += kTilesAtOnce) {
    listed[thread] = 0;
    full[thread] = 0;
    ptx::sync_block();
    mark_tiles(params.partial, row, params.kv_blocks, begin, listed);
    mark_tiles(params.full, row, params.kv_blocks, begin, listed);
    mark_tiles(params.full, row, params.kv_blocks, begin, full);
    ptx::sync_block();
    u32 begins = run_begins(listed, full, thread);
    const PrefixSum sum = prefix_sum(ptx::count_bits(begins), sums);
    KeySpan* span = params.spans + end + sum.before;
    for (; begins != 0; begins &= begins - 1) {
      const u32 bit = ptx::lowest_bit(begins);
      const i64 run = begin + static_cast<i64>(thread * 32 + bit);
      const i64 kv_end =
          (static_cast<i64>(begin) + run_end(listed, full, thread, bit)) * params.kv_block;
      *span++ = {static_cast<i32>(run * params.kv_block),
                 static_cast<i32>(kv_end < params.kv_rows ? kv_end : params.kv_rows),
                 static_cast<i32>(full[thread] >> bit & 1), 0};
    }
    end += sum.all;
    ptx::sync_block();
  }
  if (thread == 0) params.ranges[list] = {first, end};
}

}  // namespace tilewright::cuda
