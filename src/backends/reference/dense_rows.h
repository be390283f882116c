#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/element.h"
#include "tilewright/tensor.h"

namespace tilewright::reference {

/// Element offset of an index whose last axis is not given; strides of axes of extent 1 are
/// ignored.
template <std::size_t kRank>
std::int64_t offset_of(const TensorView& view, const std::array<std::int64_t, kRank>& index) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < kRank; ++axis)
    if (view.shape[axis] != 1) offset += index[axis] * view.strides[axis];
  return offset;
}

/// Copies one row of a tensor [.., .., rows, columns].
template <class F>
void read_row(const TensorView& view, const std::array<std::int64_t, 3>& index, F* row) {
  const std::int64_t begin = offset_of<3>(view, index);
  const std::int64_t stride = view.shape[3] == 1 ? 0 : view.strides[3];
  for (std::int64_t d = 0; d < view.shape[3]; ++d)
    row[d] = static_cast<F>(read_real(view, begin + d * stride));
}

/// All rows of one head of key or value, [rows, columns].
template <class F>
std::vector<F> read_head(const TensorView& view, std::int64_t b, std::int64_t h) {
  std::vector<F> head(static_cast<std::size_t>(view.shape[2] * view.shape[3]));
  for (std::int64_t j = 0; j < view.shape[2]; ++j)
    read_row(view, {b, h, j}, head.data() + j * view.shape[3]);
  return head;
}

template <class F>
F dot(const F* a, const F* b, std::int64_t size) {
  constexpr std::int64_t kLanes = 8;
  std::array<F, kLanes> lanes{};
  std::int64_t d = 0;
  for (; d + kLanes <= size; d += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[d + lane] * b[d + lane];
  F sum = 0;
  for (; d < size; ++d) sum += a[d] * b[d];
  for (const F lane : lanes) sum += lane;
  return sum;
}

}  // namespace tilewright::reference
