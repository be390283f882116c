// mask_mod: id[j] == id[i] and j <= i, for a table of ids found sorted: begin[i] is the first key
// of row i's document.
#pragma once
#include "attention/mods_contract.cuh"
#include "ptx/global_memory.cuh"

namespace tilewright::cuda {

struct EmittedMods : IdentityMods {
  struct Bindings {
    const i32* begin;
  };
  struct Row {
    i32 begin;
  };
  static constexpr bool kHasMaskMod = true;
  static constexpr int kRowIntervals = 1;

  static __device__ __forceinline__ Head head(const Bindings&, i32, i32) { return {}; }
  static __device__ __forceinline__ Band band(const Bindings&, const Head&, i32, i32) { return {}; }
  static __device__ __forceinline__ Row row(const Bindings& bound, const Head&, i32 i) {
    return {ptx::load(bound.begin + i)};
  }
  static __device__ __forceinline__ Column column(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Diagonal diagonal(const Bindings&, const Head&, i32) {
    return {};
  }
  static __device__ __forceinline__ KeyInterval interval(const Bindings&, const Head&,
                                                         const Row& row, i32 i, int) {
    return {row.begin, i + 1};
  }
  static __device__ __forceinline__ TileClass classify(const Bindings& bound, const Head&,
                                                       const Band&, const TileBounds& t) {
    const i32 lowest = ptx::load(bound.begin + t.q_begin);
    if (t.kv_begin >= t.q_end || t.kv_end <= lowest) return TileClass::kEmpty;
    const i32 highest = ptx::load(bound.begin + t.q_end - 1);
    const bool full = t.kv_end - 1 <= t.q_begin && t.kv_begin >= highest;
    return full ? TileClass::kFull : TileClass::kPartial;
  }
};

}  // namespace tilewright::cuda
