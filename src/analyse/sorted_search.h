#pragma once

#include <cstdint>
#include <span>

#include "tilewright/mask_map.h"
#include "tilewright/tensor.h"

namespace tilewright::analyse {

/// One line of an integer tensor along an axis, the other subscripts fixed.
struct TableLine {
  const TensorView* view = nullptr;
  std::size_t axis = 0;
  std::int64_t offset = 0;  ///< element offset of entry 0
  std::int64_t stride() const { return view->shape[axis] > 1 ? view->strides[axis] : 0; }
};

/// Entries inside `within` that equal `value`, as one range; the line ascends there.
TokenRange equal_range(const TableLine& line, TokenRange within, std::int64_t value);

}  // namespace tilewright::analyse
