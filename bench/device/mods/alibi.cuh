// score_mod: s + slope[h] (j - i); mask_mod: j <= i.
#pragma once
#include "attention/mods_contract.cuh"
#include "ptx/global_memory.cuh"

namespace tilewright::cuda {

struct EmittedMods : IdentityMods {
  struct Bindings {
    const float* slope;
  };
  struct Head {
    float slope_log2;  ///< times log2(e)
  };
  static constexpr bool kHasScoreMod = true;
  static constexpr bool kHasMaskMod = true;
  static constexpr int kRowIntervals = 1;

  static __device__ __forceinline__ Head head(const Bindings& bound, i32, i32 h) {
    return {ptx::load(bound.slope + h) * 1.44269504f};
  }
  static __device__ __forceinline__ Band band(const Bindings&, const Head&, i32, i32) { return {}; }
  static __device__ __forceinline__ Row row(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Column column(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Diagonal diagonal(const Bindings&, const Head&, i32) {
    return {};
  }
  static __device__ __forceinline__ float exponent(const Bindings&,
                                                   const ScoreSite<EmittedMods>& at) {
    const float at_base =
        at.head.slope_log2 * static_cast<float>(at.pair.first_key - at.pair.i) + at.minus_reference;
    return at.product * at.scale_log2 + (at.head.slope_log2 * at.pair.offset + at_base);
  }
  static __device__ __forceinline__ KeyInterval interval(const Bindings&, const Head&, const Row&,
                                                         i32 i, int) {
    return {0, i + 1};
  }
  static __device__ __forceinline__ TileClass classify(const Bindings&, const Head&, const Band&,
                                                       const TileBounds& t) {
    if (t.kv_begin >= t.q_end) return TileClass::kEmpty;
    return t.kv_end - 1 <= t.q_begin ? TileClass::kFull : TileClass::kPartial;
  }
};

}  // namespace tilewright::cuda
