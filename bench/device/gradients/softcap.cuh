// t = cap tanh(s / cap), dt/ds = 1 - (t / cap)^2; a key is seen by the rows from its own on.
#pragma once
#include "attention/backward_mods_contract.cuh"

namespace tilewright::cuda {

struct EmittedGradient : IdentityGradient {
  static constexpr bool kHasScoreGradient = true;
  static constexpr int kQueryIntervals = 1;

  static __device__ __forceinline__ float d_score(const EmittedMods::Bindings& bound,
                                                  const GradientSite<EmittedMods>& at) {
    const float tanh = at.score_log2 * (0.69314718f * bound.inverse_cap);
    return at.d_modified - at.d_modified * tanh * tanh;
  }
  static __device__ __forceinline__ QueryInterval interval(const EmittedMods::Bindings&,
                                                           const EmittedMods::Head&,
                                                           const EmittedMods::Column&, i32 j, int) {
    return {j, 0x7fffffff};
  }
};

}  // namespace tilewright::cuda
