// mask_mod: j <= i.
#pragma once
#include "attention/mods_contract.cuh"

namespace tilewright::cuda {

struct EmittedMods : IdentityMods {
  static constexpr bool kHasMaskMod = true;
  static constexpr int kRowIntervals = 1;

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
