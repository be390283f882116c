#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/key_steps.h"

namespace tilewright::cpu {

/// Neighbouring rows of an item that take the same steps.
struct Band {
  std::int64_t row_begin;
  std::int64_t rows;
  std::size_t step;  ///< the first one, in the item's list of steps
  std::size_t end;   ///< behind the last one that is left
};

/// Joins neighbouring bands where one product over the keys of both costs less than two products:
/// few rows use the registers badly and every step has a price, keys that one of the bands does not
/// need have one too. Steps of the joined bands go to the end of `steps`. Not for
/// block lists, whose steps must stay apart (semantics R3), and not without a mask_mod.
void join_bands(const ForwardCall& call, std::vector<Band>& bands, std::vector<KeyStep>& steps);

}  // namespace tilewright::cpu
