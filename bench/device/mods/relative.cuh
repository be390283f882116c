// score_mod: s + table[h, i - j + offset], table bf16 [H, row_stride].
#pragma once
#include "attention/mods_contract.cuh"
#include "ptx/global_memory.cuh"
#include "ptx/numbers.cuh"

namespace tilewright::cuda {

struct EmittedMods : IdentityMods {
  struct Bindings {
    const u16* table;
    i64 row_stride;
    i32 offset;
    i32 size;
  };
  struct Head {
    const u16* table;
  };
  struct Diagonal {
    u16 bits;
  };
  static constexpr bool kHasScoreMod = true;

  static __device__ __forceinline__ Head head(const Bindings& bound, i32, i32 h) {
    return {bound.table + h * bound.row_stride + bound.offset};
  }
  static __device__ __forceinline__ Band band(const Bindings&, const Head&, i32, i32) { return {}; }
  static __device__ __forceinline__ Row row(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Column column(const Bindings&, const Head&, i32) { return {}; }
  /// A diagonal outside the table belongs to no live pair.
  static __device__ __forceinline__ Diagonal diagonal(const Bindings& bound, const Head& head,
                                                      i32 i_minus_j) {
    const i32 index = min(max(i_minus_j, -bound.offset), bound.size - 1 - bound.offset);
    return {ptx::load(head.table + index)};
  }
  static __device__ __forceinline__ float exponent(const Bindings&,
                                                   const ScoreSite<EmittedMods>& at) {
    const float bias = ptx::to_float(Bf16{}, at.diagonal.bits);
    return at.product * at.scale_log2 + (bias * 1.44269504f + at.minus_reference);
  }
};

}  // namespace tilewright::cuda
