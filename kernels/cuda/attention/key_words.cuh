// Which keys of a tile a query tile may see where span lists or key lengths decide, a bit a key:
// whatever spans reach into the tile, it is visited once.
#pragma once

#include "attention/span_lists.cuh"
#include "ptx/lane.cuh"
#include "ptx/numbers.cuh"

namespace tilewright::cuda {

/// Bit j % 32 of word j / 32 is key kv_begin + j of an item.
struct alignas(16) KeyWords {
  static constexpr int kWords = 4;
  u32 visited[kWords];   ///< listed, and inside the length
  u32 unmasked[kWords];  ///< of those, every pair is live: mask_mod is not asked

  /// Whether every pair with every key of a tile is live, or the mask of the tile's pairs knows.
  template <int kKeys>
  __device__ __forceinline__ bool covers(bool by_mask) const {
    u32 missing = 0;
#pragma unroll
    for (int w = 0; w < kKeys / 32; ++w) missing |= ~(by_mask ? unmasked[w] : visited[w]);
    return missing == 0;
  }

  __device__ __forceinline__ bool visits(i32 key) const { return bit(visited, key) != 0; }
  /// 1 or 0.
  __device__ __forceinline__ u32 is_unmasked(i32 key) const { return bit(unmasked, key); }

 private:
  static __device__ __forceinline__ u32 bit(const u32 (&words)[kWords], i32 key) {
    return words[key / 32] >> key % 32 & 1u;
  }
};

/// Bits [begin, end) of word `word`; both may lie outside of it.
__device__ __forceinline__ u32 bits_of_word(i32 begin, i32 end, int word) {
  const i32 low = min(max(begin - 32 * word, 0), 32), high = min(max(end - 32 * word, 0), 32);
  return ptx::low_bits(static_cast<u32>(high)) & ~ptx::low_bits(static_cast<u32>(low));
}

/// The words of keys [kv_begin, kv_begin + keys), all of them visited, the mask asked.
__device__ __forceinline__ KeyWords first_keys(i32 keys) {
  KeyWords words;
#pragma unroll
  for (int w = 0; w < KeyWords::kWords; ++w) {
    words.visited[w] = bits_of_word(0, keys, w);
    words.unmasked[w] = 0;
  }
  return words;
}

struct KeyRange {
  i32 begin;
  i32 end;
};

/// The words of a range of keys by a list. Called by the whole warp, which looks at 32 spans
/// at a time: first for where the spans begin that reach into the keys, then at these.
__device__ __forceinline__ KeyWords listed_keys(const SpanLists& lists, i64 list,
                                                const KeyRange& keys, u32 lane) {
  i64 first = lists.ranges[list].first;
  const i64 last = lists.ranges[list].last;
  i64 count = last - first;
  while (count > 32) {
    const i64 step = (count + 31) / 32;
    const i64 probe = first + (lane + 1) * step - 1;
    const bool before = probe < last && lists.spans[probe].kv_end <= keys.begin;
    // Spans ascend: those before the keys are the first lanes'.
    first += ptx::count_bits(ptx::ballot(before)) * step;
    count = min(step, last - first);
  }
  KeyWords words = first_keys(0);
  for (bool more = true; more; first += 32) {
    const i64 at = first + lane;
    KeySpan span = {0, 0, 0, 0};
    if (at < last) span = lists.spans[at];
    const bool reaches = span.kv_end > keys.begin && span.kv_begin < keys.end;
#pragma unroll
    for (int w = 0; w < KeyWords::kWords; ++w) {
      const u32 bits = reaches ? bits_of_word(span.kv_begin - keys.begin,
                                              min(span.kv_end, keys.end) - keys.begin, w)
                               : 0;
      words.visited[w] |= ptx::any_bits(bits);
      words.unmasked[w] |= ptx::any_bits(span.full != 0 ? bits : 0);
    }
    more = first + 32 < last &&
           ptx::broadcast(static_cast<u32>(span.kv_end), 31) < static_cast<u32>(keys.end);
  }
  return words;
}

}  // namespace tilewright::cuda
