// mask_mod: keep[j], a table of bytes: which keys are real.
#pragma once
#include "attention/mods_contract.cuh"
#include "ptx/global_memory.cuh"

namespace tilewright::cuda {

struct EmittedMods : IdentityMods {
  struct Bindings {
    const u8* keep;
    i32 keys;
  };
  struct Column {
    bool keep;
  };
  static constexpr bool kHasMaskMod = true;

  static __device__ __forceinline__ Head head(const Bindings&, i32, i32) { return {}; }
  static __device__ __forceinline__ Band band(const Bindings&, const Head&, i32, i32) { return {}; }
  static __device__ __forceinline__ Row row(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Column column(const Bindings& bound, const Head&, i32 j) {
    return {bound.keep[min(j, bound.keys - 1)] != 0};
  }
  static __device__ __forceinline__ bool mask(const Bindings&, const MaskSite<EmittedMods>& at) {
    return at.column.keep;
  }
  static __device__ __forceinline__ TileClass classify(const Bindings&, const Head&, const Band&,
                                                       const TileBounds&) {
    return TileClass::kPartial;
  }
};

}  // namespace tilewright::cuda
