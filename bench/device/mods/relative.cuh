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
  static constexpr bool kHasScoreMod = true;

  static __device__ __forceinline__ Head head(const Bindings& bound, i32, i32 h) {
    return {bound.table + h * bound.row_stride + bound.offset};
  }
  static __device__ __forceinline__ Row row(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ Column column(const Bindings&, const Head&, i32) { return {}; }
  static __device__ __forceinline__ float score(const Bindings& bound, float s, const Head& head,
                                                const Row&, const Column&, const PairIndex& pair) {
    const i32 index = min(max(pair.i - pair.j, -bound.offset), bound.size - 1 - bound.offset);
    return s + ptx::to_float(Bf16{}, ptx::load(head.table + index));
  }
};

}  // namespace tilewright::cuda
