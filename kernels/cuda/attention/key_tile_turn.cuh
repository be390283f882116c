// Which key tile adds to the dQ of some query rows right before another does, where additions come
// in an order of keys.
#pragma once

#include "attention/mods_contract.cuh"

namespace tilewright::cuda {

/// 1 + the nearest key tile before the one at kv_begin that rows [q_begin, q_end) of a head see; 0
/// if none.
template <int kKeyTile, class Mods>
__device__ __forceinline__ u32 turn_by_mask(const typename Mods::Bindings& bindings,
                                            const typename Mods::Head& head, i32 q_begin, i32 q_end,
                                            i32 kv_begin) {
  const typename Mods::Band band = Mods::band(bindings, head, q_begin, q_end);
  const auto sees = [&](i32 begin, i32 end) {
    return Mods::classify(bindings, head, band, {q_begin, q_end, begin, end}) != TileClass::kEmpty;
  };
  if (kv_begin == 0 || !sees(0, kv_begin)) return 0;
  for (i32 begin = kv_begin - kKeyTile; begin >= 0; begin -= kKeyTile) {
    if (sees(begin, begin + kKeyTile)) return static_cast<u32>(begin / kKeyTile + 1);
  }
  return 0;
}

/// The same where keys descend: 1 + the nearest key tile behind the one at bounds.kv_begin that
/// the rows see; keys end at bounds.kv_end.
template <int kKeyTile, class Mods>
__device__ __forceinline__ u32 descending_turn_by_mask(const typename Mods::Bindings& bindings,
                                                       const typename Mods::Head& head,
                                                       TileBounds bounds) {
  const typename Mods::Band band = Mods::band(bindings, head, bounds.q_begin, bounds.q_end);
  const auto sees = [&](i32 begin, i32 end) {
    return Mods::classify(bindings, head, band, {bounds.q_begin, bounds.q_end, begin, end}) !=
           TileClass::kEmpty;
  };
  i32 begin = bounds.kv_begin + kKeyTile;
  if (begin >= bounds.kv_end || !sees(begin, bounds.kv_end)) return 0;
  for (; begin < bounds.kv_end; begin += kKeyTile) {
    if (sees(begin, min(begin + kKeyTile, bounds.kv_end))) {
      return static_cast<u32>(begin / kKeyTile + 1);
    }
  }
  return 0;
}

}  // namespace tilewright::cuda
