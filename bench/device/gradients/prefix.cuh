// A key of the prefix is seen by every row, another by the rows from its own on.
#pragma once
#include "attention/backward_mods_contract.cuh"

namespace tilewright::cuda {

struct EmittedGradient : IdentityGradient {
  static constexpr int kQueryIntervals = 1;

  static __device__ __forceinline__ QueryInterval interval(const EmittedMods::Bindings& bound,
                                                           const EmittedMods::Head&,
                                                           const EmittedMods::Column&, i32 j, int) {
    return {j < bound.prefix ? 0 : j, 0x7fffffff};
  }
};

}  // namespace tilewright::cuda
