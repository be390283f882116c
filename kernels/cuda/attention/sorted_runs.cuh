// Tables along the keys of one tile, spread over the lanes of a warp. In a tile in which a table
// ascends, the keys whose entry equals a row's value lie side by side and are found by search among
// the lanes; whether it ascends elsewhere does not matter.
#pragma once

#include "attention/mods_contract.cuh"
#include "ptx/lane.cuh"

namespace tilewright::cuda {

template <class Mods, int kColumns, bool kExist = (Mods::kSortedRuns > 0)>
struct SortedRuns {
  __device__ __forceinline__ void load(const typename Mods::Bindings&, const typename Mods::Head&,
                                       i32, i32) {}
};

template <class Mods, int kColumns>
struct SortedRuns<Mods, kColumns, true> {
  static constexpr int kRuns = Mods::kSortedRuns;
  /// Neighbouring columns of a lane.
  static constexpr int kOwn = (kColumns + 31) / 32;
  typename Mods::RunEntry own[kRuns][kOwn];

  /// Columns past the last key, or past the tile, have the entry of the one before.
  __device__ __forceinline__ void load(const typename Mods::Bindings& bindings,
                                       const typename Mods::Head& head, i32 kv_begin, i32 kv_end) {
    const i32 last = min(kv_begin + kColumns, kv_end) - 1;
    const i32 first = kv_begin + static_cast<i32>(ptx::thread_in_block() % 32) * kOwn;
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
#pragma unroll
      for (int k = 0; k < kOwn; ++k) {
        own[run][k] = Mods::run_entry(bindings, head, min(first + k, last), run);
      }
    }
  }

  /// Whether every table ascends along the tile, for the whole warp.
  __device__ __forceinline__ bool ascend() const {
    bool falls = false;
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
#pragma unroll
      for (int k = 1; k < kOwn; ++k) falls |= own[run][k] < own[run][k - 1];
      const u32 lane = ptx::thread_in_block() % 32;
      const auto following = entry(run, 0, min(lane + 1, 31u));
      falls |= lane != 31 && following < own[run][kOwn - 1];
    }
    return !ptx::any(falls);
  }

  /// Keys of the tile whose entry of an ascending table equals `value`.
  __device__ __forceinline__ KeyInterval find(int run, i64 value, i32 kv_begin) const {
    const auto first = entry(run, 0, 0);
    if (first == entry(run, kOwn - 1, 31)) {
      return {kv_begin, first == value ? kv_begin + kColumns : kv_begin};
    }
    return {kv_begin + columns_before(run, value, false),
            kv_begin + columns_before(run, value, true)};
  }

 private:
  /// How many columns of the tile hold less than `value`, or at most that.
  __device__ __forceinline__ i32 columns_before(int run, i64 value, bool with_equal) const {
    const auto is_before = [&](typename Mods::RunEntry at) {
      return with_equal ? at <= value : at < value;
    };
    u32 lane = 0;
#pragma unroll
    for (u32 step = 16; step > 0; step /= 2) {
      if (is_before(entry(run, kOwn - 1, lane + step - 1))) lane += step;
    }
    i32 count = static_cast<i32>(lane) * kOwn;
#pragma unroll
    for (int k = 0; k < kOwn; ++k) count += is_before(entry(run, k, lane)) ? 1 : 0;
    return count;
  }

  __device__ __forceinline__ typename Mods::RunEntry entry(int run, int k, u32 lane) const {
    return static_cast<typename Mods::RunEntry>(
        ptx::broadcast(static_cast<u32>(own[run][k]), lane));
  }
};

}  // namespace tilewright::cuda
