// mask_mod: i / 2 - 30 h <= j and j <= i + 17 h: neither symmetric nor the same for all heads.
#pragma once
#include "attention/mods_contract.cuh"

namespace tilewright::cuda {

struct EmittedMods : IdentityMods {
  struct Bindings {};
  struct Head {
    i32 below;
    i32 above;
  };
  static constexpr bool kHasMaskMod = true;
  static constexpr int kRowIntervals = 1;

  static __device__ __forceinline__ Head head(const Bindings&, i32, i32 h) {
    return {30 * h, 17 * h};
  }
  static __device__ __forceinline__ Band band(const Bindings&, const Head&, i32, i32) { return {}; }
  static __device__ __forceinline__ Row row(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Column column(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Diagonal diagonal(const Bindings&, const Head&, i32) {
    return {};
  }
  static __device__ __forceinline__ KeyInterval interval(const Bindings&, const Head& head,
                                                         const Row&, i32 i, int) {
    return {i / 2 - head.below, i + head.above + 1};
  }
  static __device__ __forceinline__ TileClass classify(const Bindings&, const Head& head,
                                                       const Band&, const TileBounds& t) {
    const i32 first = t.q_begin, last = t.q_end - 1;
    if (t.kv_begin > last + head.above || t.kv_end <= first / 2 - head.below) {
      return TileClass::kEmpty;
    }
    const bool full = t.kv_end - 1 <= first + head.above && t.kv_begin >= last / 2 - head.below;
    return full ? TileClass::kFull : TileClass::kPartial;
  }
};

}  // namespace tilewright::cuda
