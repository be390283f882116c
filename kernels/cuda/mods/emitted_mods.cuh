// Everything that emitted mods may use.
#pragma once

#include "attention/mods_contract.cuh"
#include "mods/captures.cuh"
#include "mods/faults.cuh"
#include "mods/integers.cuh"
#include "mods/mask_arithmetic.cuh"
#include "mods/pyramid.cuh"
#include "mods/score_arithmetic.cuh"

namespace tilewright::cuda::mods {

/// The bound of a key interval as a kernel position.
__device__ __forceinline__ i32 key_position(i64 logical, i64 kv_base) {
  const i64 position = logical - kv_base;
  return static_cast<i32>(position < 0 ? 0 : (position > 0x7fffffff ? 0x7fffffff : position));
}

__device__ __forceinline__ TileClass class_of(TruthRange mask) {
  if (!mask.can_be_true) return TileClass::kEmpty;
  return mask.can_be_false ? TileClass::kPartial : TileClass::kFull;
}

}  // namespace tilewright::cuda::mods
