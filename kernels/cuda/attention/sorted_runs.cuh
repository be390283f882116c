// Tables along the keys of one tile, spread over the lanes of a warp. In a tile in which a table
// ascends, the keys whose entry equals a row's value lie side by side and are found by counting
// over the lanes; whether it ascends elsewhere does not matter.
#pragma once

#include "attention/mods_contract.cuh"
#include "ptx/lane.cuh"
#include "tile/accumulator.cuh"
#include "tile/warp_value.cuh"

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

  /// For each of the thread's rows the keys of the tile whose entry of an ascending table equals
  /// the row's value. Called by the whole warp, whose rows seldom have more than two values: each
  /// is counted once for all of them.
  __device__ __forceinline__ void find(int run, const i64 (&value)[kRowsPerThread], i32 kv_begin,
                                       KeyInterval (&found)[kRowsPerThread]) const {
    u32 open = (1u << kRowsPerThread) - 1;  // rows that still ask
    for (u32 asking = ptx::kWholeWarp; asking != 0; asking = ptx::ballot(open != 0)) {
      const i64 own_value = open & 1 ? value[0] : value[1];
      const i64 asked = value_of_lane(own_value, ptx::lowest_bit(asking));
      u32 less = 0, up_to = 0;
#pragma unroll
      for (int k = 0; k < kOwn; ++k) {
        less += ptx::count_bits(ptx::ballot(own[run][k] < asked));
        up_to += ptx::count_bits(ptx::ballot(own[run][k] <= asked));
      }
#pragma unroll
      for (int slot = 0; slot < kRowsPerThread; ++slot) {
        if (value[slot] != asked) continue;
        found[slot] = {kv_begin + static_cast<i32>(less), kv_begin + static_cast<i32>(up_to)};
        open &= ~(1u << slot);
      }
    }
  }

 private:
  __device__ __forceinline__ typename Mods::RunEntry entry(int run, int k, u32 lane) const {
    return static_cast<typename Mods::RunEntry>(
        ptx::broadcast(static_cast<u32>(own[run][k]), lane));
  }
};

}  // namespace tilewright::cuda
