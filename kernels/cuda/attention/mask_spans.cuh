// The mask map of a program, made where it is used: for each block of query rows the spans of keys
// that some row sees, from the interval form of mask_mod, as forward_plan.cuh looks at it.
//
// Input      the program's captured tensors and numbers, as every kernel of the program reads them
// Output     list n = (b * heads + h) * q_blocks + block: spans[n * capacity] on, ascending and
//            disjoint, in units of kMapKeys keys; ranges[n] says how many. A list with more spans
//            than `capacity` ends with a partial one over all that is left, which is right and
//            slower; *lists_cut counts such lists.
// Launch     a warp a list, blocks of 128 threads; 32 groups of 32 units by one evaluation a lane,
//            then the units of groups that are neither empty nor full.
// Memory     registers only
#pragma once

#include "attention/mods_contract.cuh"
#include "attention/span_lists.cuh"
#include "ptx/global_memory.cuh"
#include "ptx/lane.cuh"
#include "ptx/numbers.cuh"

namespace tilewright::cuda {

inline constexpr i32 kMapKeys = 128;
inline constexpr u32 kMapWarps = 4;

/// The host fills it; src/backends/cuda/launch/map_launch.h mirrors it.
struct MaskSpanParams {
  KeySpan* spans;
  SpanRange* ranges;
  u32* lists_cut;  ///< counted up
  i64 capacity;    ///< spans a list has room for, at least 1
  i32 lists;
  i32 heads;
  i32 q_blocks;
  i32 q_block_rows;
  i32 q_rows;
  i32 kv_rows;
};

/// Spans of one list on their way to memory: runs come ascending, those that touch and are of one
/// kind become one. The same in all lanes.
struct SpanWriter {
  KeySpan* spans;
  i64 capacity;
  u32 lane;
  i64 written = 0;
  KeySpan run = {0, 0, 0, 0};
  bool cut = false;

  __device__ __forceinline__ void add(i32 begin, i32 end, bool full) {
    const bool is_none = run.kv_begin == run.kv_end;
    if (!is_none && run.kv_end == begin && (run.full != 0) == full) {
      run.kv_end = end;
      return;
    }
    if (!is_none && written + 1 == capacity) {
      run.kv_end = end;
      run.full = 0;
      cut = true;
      return;
    }
    flush();
    run = {begin, end, full ? 1 : 0, 0};
  }

  __device__ __forceinline__ void flush() {
    if (run.kv_begin == run.kv_end) return;
    if (lane == 0) spans[written] = run;
    ++written;
  }
};

template <class Mods>
struct MaskSpans {
  const MaskSpanParams& params;
  const typename Mods::Bindings& bindings;
  u32 lane;
  typename Mods::Head head;
  typename Mods::Band band;
  i32 q_begin;
  i32 q_end;
  SpanWriter writer;

  __device__ __forceinline__ MaskSpans(const MaskSpanParams& given,
                                       const typename Mods::Bindings& bound, i32 list)
      : params(given),
        bindings(bound),
        lane(ptx::thread_in_block() % 32),
        writer{given.spans + list * given.capacity, given.capacity, lane} {
    const i32 stream = list / params.q_blocks, block = list - stream * params.q_blocks;
    const i32 batch = stream / params.heads;
    head = Mods::head(bindings, batch, stream - batch * params.heads);
    q_begin = block * params.q_block_rows;
    q_end = min(q_begin + params.q_block_rows, params.q_rows);
    band = Mods::band(bindings, head, q_begin, q_end);
  }

  /// Called by a whole warp.
  __device__ __forceinline__ void run(i32 list) {
    constexpr i64 kBlockKeys = 1024 * kMapKeys;
    for (i64 first = 0; first < params.kv_rows; first += kBlockKeys) {
      look(first, 32 * kMapKeys, [&](i64 group) {
        look(group, kMapKeys, [&](i64 unit) { add(unit, kMapKeys, false); });
      });
    }
    writer.flush();
    if (lane != 0) return;
    const i64 begin = static_cast<i64>(list) * params.capacity;
    params.ranges[list] = {begin, begin + writer.written};
    if (writer.cut) ptx::count_up(params.lists_cut);
  }

 private:
  __device__ __forceinline__ TileClass classify(i64 begin, i32 keys) const {
    if (begin >= params.kv_rows) return TileClass::kEmpty;
    return Mods::classify(bindings, head, band,
                          {q_begin, q_end, static_cast<i32>(begin), end_of(begin + keys)});
  }

  __device__ __forceinline__ i32 end_of(i64 end) const {
    return end < params.kv_rows ? static_cast<i32>(end) : params.kv_rows;
  }

  __device__ __forceinline__ void add(i64 begin, i64 keys, bool full) {
    writer.add(static_cast<i32>(begin), end_of(begin + keys), full);
  }

  /// 32 pieces of `keys` keys: full ones become spans, of partial ones `partial` makes them.
  template <class Partial>
  __device__ __forceinline__ void look(i64 first, i32 keys, const Partial& partial) {
    const TileClass found = classify(first + static_cast<i64>(lane) * keys, keys);
    const u32 live = ptx::ballot(found != TileClass::kEmpty);
    const u32 full = ptx::ballot(found == TileClass::kFull);
    u32 left = live;
    while (left != 0) {
      const u32 at = ptx::lowest_bit(left);
      const i64 begin = first + static_cast<i64>(at) * keys;
      if ((full >> at & 1) == 0) {
        partial(begin);
        left &= left - 1;
        continue;
      }
      const u32 others = ~full & ~ptx::low_bits(at);
      const u32 end = others != 0 ? ptx::lowest_bit(others) : 32;
      add(begin, static_cast<i64>(end - at) * keys, true);
      left &= ~ptx::low_bits(end);
    }
  }
};

/// The body of a kernel of 32 * kMapWarps threads.
template <class Mods>
__device__ __forceinline__ void build_mask_spans(const MaskSpanParams& params,
                                                 const typename Mods::Bindings& bindings) {
  const u32 warp = ptx::broadcast(ptx::thread_in_block() / 32, 0);
  const i32 list = static_cast<i32>(ptx::block_in_grid() * kMapWarps + warp);
  if (list >= params.lists) return;
  MaskSpans<Mods>(params, bindings, list).run(list);
}

}  // namespace tilewright::cuda
