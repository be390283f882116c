// mask_mod: j <= i and i - j <= width.
#pragma once
#include "attention/mods_contract.cuh"

namespace tilewright::cuda {

struct EmittedMods : IdentityMods {
  struct Bindings {
    i32 width;
  };
  static constexpr bool kHasMaskMod = true;
  static constexpr int kRowIntervals = 1;

  static __device__ __forceinline__ Head head(const Bindings&, i32, i32) { return {}; }
  static __device__ __forceinline__ Band band(const Bindings&, const Head&, i32, i32) { return {}; }
  static __device__ __forceinline__ Row row(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Column column(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Diagonal diagonal(const Bindings&, const Head&, i32) {
    return {};
  }
  static __device__ __forceinline__ KeyInterval interval(const Bindings& bound, const Head&,
                                                         const Row&, i32 i, int) {
    return {i - bound.width, i + 1};
  }
  static __device__ __forceinline__ TileClass classify(const Bindings& bound, const Head&,
                                                       const Band&, const TileBounds& t) {
    if (t.kv_begin >= t.q_end || t.q_begin - (t.kv_end - 1) > bound.width) return TileClass::kEmpty;
    const bool full = t.kv_end - 1 <= t.q_begin && t.q_end - 1 - t.kv_begin <= bound.width;
    return full ? TileClass::kFull : TileClass::kPartial;
  }
};

}  // namespace tilewright::cuda
