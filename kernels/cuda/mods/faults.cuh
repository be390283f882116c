// Checked mode of semantics R8 and R9: a live subscript outside its tensor and a live integer
// division by zero are told to the host.
#pragma once

#include "attention/error_record.cuh"
#include "mods/captures.cuh"

namespace tilewright::cuda::mods {

template <class Int>
__device__ __forceinline__ i64 as_written(Int index) {
  return index;
}
template <class Int>
__device__ __forceinline__ i64 as_written(FromZero<Int> index) {
  return index.index;
}

/// Keeps the first subscript that leaves its axis.
template <class Int, class Stored, int kRank, class Written>
__device__ __forceinline__ void note_if_outside(const Capture<Stored, kRank>& tensor, int axis,
                                                Written written, bool& found, i64& index) {
  const Int extent = narrowed<Int>(tensor.extent[axis]);
  if (found || is_inside(wrapped(written, extent), extent)) return;
  found = true;
  index = as_written(written);
}

/// element() that also reports the first axis that a live subscript leaves.
template <class Value, class Int, class Stored, int kRank, class... Written>
__device__ __forceinline__ Value reporting_element(ErrorRecord* record, i32 slot,
                                                   const Capture<Stored, kRank>& tensor, bool live,
                                                   Written... subscripts) {
  const Place<Int> place = locate<Int>(tensor, subscripts...);
  Value value = 0;
  if (!live) return value;
  if (place.inside) return value_of<Value>(tensor.data[place.offset]);
  i64 index = 0;
  int axis = 0;
  bool found = false;
  (note_if_outside<Int>(tensor, axis++, subscripts, found, index), ...);
  report(record, 1, slot, index);
  return value;
}

/// A divisor, reported where it is live and 0.
template <class Int>
__device__ __forceinline__ Int reporting_divisor(ErrorRecord* record, i32 node, Int divisor,
                                                 bool live) {
  if (live && divisor == 0) report(record, 2, node, 0);
  return divisor;
}

}  // namespace tilewright::cuda::mods
