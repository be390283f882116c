// mask_mod: j < prefix or j <= i.
#pragma once
#include "attention/mods_contract.cuh"

namespace tilewright::cuda {

struct EmittedMods : IdentityMods {
  struct Bindings {
    i32 prefix;
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
    return {0, max(bound.prefix, i + 1)};
  }
  static __device__ __forceinline__ TileClass classify(const Bindings& bound, const Head&,
                                                       const Band&, const TileBounds& t) {
    if (t.kv_begin >= max(t.q_end, bound.prefix)) return TileClass::kEmpty;
    return t.kv_end <= max(bound.prefix, t.q_begin + 1) ? TileClass::kFull : TileClass::kPartial;
  }
};

}  // namespace tilewright::cuda
