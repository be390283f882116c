// score_mod: cap * tanh(s / cap), fast form; mask_mod: j <= i.
#pragma once
#include "attention/mods_contract.cuh"
#include "ptx/numbers.cuh"

namespace tilewright::cuda {

struct EmittedMods : IdentityMods {
  struct Bindings {
    float cap;
    float inverse_cap;
  };
  static constexpr bool kHasScoreMod = true;
  static constexpr bool kHasMaskMod = true;
  static constexpr int kRowIntervals = 1;

  static __device__ __forceinline__ Head head(const Bindings&, i32, i32) { return {}; }
  static __device__ __forceinline__ Band band(const Bindings&, const Head&, i32, i32) { return {}; }
  static __device__ __forceinline__ Row row(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Column column(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Diagonal diagonal(const Bindings&, const Head&, i32) {
    return {};
  }
  static __device__ __forceinline__ float exponent(const Bindings& bound,
                                                   const ScoreSite<EmittedMods>& at) {
    const float into = at.scale_log2 * (0.69314718f * bound.inverse_cap);
    return ptx::tanh_fast(at.product * into) * (1.44269504f * bound.cap) + at.minus_reference;
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
