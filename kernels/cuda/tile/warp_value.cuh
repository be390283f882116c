// Handing a small struct from lane to lane.
#pragma once

#include "ptx/lane.cuh"

namespace tilewright::cuda {

/// The value of lane `from` (modulo 32), for each lane; called by the whole warp. Costs nothing for
/// an empty struct.
template <class Value>
__device__ __forceinline__ Value value_of_lane(const Value& own, u32 from) {
  if constexpr (__is_empty(Value)) {
    return own;
  } else {
    u32 words[(sizeof(Value) + 3) / 4] = {};
    memcpy(words, &own, sizeof(Value));
#pragma unroll
    for (u32& word : words) word = ptx::broadcast(word, from);
    Value value;
    memcpy(&value, words, sizeof(Value));
    return value;
  }
}

}  // namespace tilewright::cuda
