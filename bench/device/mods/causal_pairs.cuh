// mask_mod: j <= i, decided pair by pair as for a mask without an interval form.
#pragma once
#include "attention/mods_contract.cuh"

namespace tilewright::cuda {

struct EmittedMods : IdentityMods {
  static constexpr bool kHasMaskMod = true;

  static __device__ __forceinline__ bool mask(const Bindings&, const MaskSite<EmittedMods>& at) {
    return at.j <= at.i;
  }
  static __device__ __forceinline__ TileClass classify(const Bindings&, const Head&, const Band&,
                                                       const TileBounds& t) {
    if (t.kv_begin >= t.q_end) return TileClass::kEmpty;
    return t.kv_end - 1 <= t.q_begin ? TileClass::kFull : TileClass::kPartial;
  }
};

}  // namespace tilewright::cuda
