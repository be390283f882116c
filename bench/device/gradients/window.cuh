// A key is seen by the rows from its own to `width` below.
#pragma once
#include "attention/backward_mods_contract.cuh"

namespace tilewright::cuda {

struct EmittedGradient : IdentityGradient {
  static constexpr int kQueryIntervals = 1;

  static __device__ __forceinline__ QueryInterval interval(const EmittedMods::Bindings& bound,
                                                           const EmittedMods::Head&,
                                                           const EmittedMods::Column&, i32 j, int) {
    return {j, j + bound.width + 1};
  }
};

}  // namespace tilewright::cuda
