// Communication inside a warp. PTX ISA: "shfl.sync, vote.sync".
#pragma once

#include "ptx/integers.cuh"

namespace tilewright::cuda::ptx {

inline constexpr u32 kWholeWarp = 0xffffffffu;

__device__ __forceinline__ u32 thread_in_block() {
  u32 index;
  asm("mov.u32 %0, %%tid.x;" : "=r"(index));
  return index;
}

/// The same number, of which the compiler knows nothing: what is computed from it inside a loop is
/// computed there, and not kept in registers from one pass to the next.
__device__ __forceinline__ u32 forgotten(u32 value) {
  asm volatile("" : "+r"(value));
  return value;
}

__device__ __forceinline__ u32 block_in_grid() {
  u32 index;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(index));
  return index;
}

__device__ __forceinline__ u32 blocks_in_grid() {
  u32 count;
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(count));
  return count;
}

/// Second index of the block.
__device__ __forceinline__ u32 block_row_in_grid() {
  u32 index;
  asm("mov.u32 %0, %%ctaid.y;" : "=r"(index));
  return index;
}

/// The value held by lane ^ kMask.
template <u32 kMask>
__device__ __forceinline__ float shuffle_xor(float value) {
  float other;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;"
               : "=f"(other)
               : "f"(value), "n"(kMask));
  return other;
}

template <u32 kMask>
__device__ __forceinline__ u32 shuffle_xor(u32 value) {
  u32 other;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;"
               : "=r"(other)
               : "r"(value), "n"(kMask));
  return other;
}

/// The value held by `lane`, in every lane; also how a value becomes uniform for the compiler.
__device__ __forceinline__ u32 broadcast(u32 value, u32 lane) {
  u32 other;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;"
               : "=r"(other)
               : "r"(value), "r"(lane));
  return other;
}

__device__ __forceinline__ u32 ballot(bool predicate) {
  u32 lanes;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
               : "=r"(lanes)
               : "r"(static_cast<u32>(predicate)));
  return lanes;
}

__device__ __forceinline__ bool any(bool predicate) {
  u32 result;
  asm volatile(
      "{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.any.pred q, p, 0xffffffff; selp.u32 %0, "
      "1, "
      "0, q; }"
      : "=r"(result)
      : "r"(static_cast<u32>(predicate)));
  return result != 0;
}

/// The bits that any lane has. PTX ISA: "redux.sync".
__device__ __forceinline__ u32 any_bits(u32 bits) {
  u32 result;
  asm volatile("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(bits));
  return result;
}

/// The lanes that hold the same value, this one among them. PTX ISA: "match.sync".
__device__ __forceinline__ u32 lanes_with(u32 value) {
  u32 lanes;
  asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(lanes) : "r"(value));
  return lanes;
}

__device__ __forceinline__ void sync_warp() {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

__device__ __forceinline__ u32 count_bits(u32 bits) {
  u32 count;
  asm("popc.b32 %0, %1;" : "=r"(count) : "r"(bits));
  return count;
}

/// Index of the highest set bit; `bits` is not zero.
__device__ __forceinline__ u32 highest_bit(u32 bits) {
  u32 index;
  asm("bfind.u32 %0, %1;" : "=r"(index) : "r"(bits));
  return index;
}

/// Index of the lowest set bit; `bits` is not zero.
__device__ __forceinline__ u32 lowest_bit(u32 bits) { return highest_bit(bits & (0u - bits)); }

}  // namespace tilewright::cuda::ptx
