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

/// element() that also reports the first axis that a live subscript leaves.
template <class Value, class Int, class Stored, int kRank, class... Written>
__device__ __forceinline__ Value reporting_element(ErrorRecord* record, i32 slot,
                                                   const Capture<Stored, kRank>& tensor, bool live,
                                                   Written... subscripts) {
  const Place<Int> place = locate<Int>(tensor, subscripts...);
  Value value = 0;
  if (!live) return value;
  if (place.bad_axis < 0) return value_of<Value>(tensor.data[place.offset]);
  i64 index = 0;
  int axis = 0;
  ((index = axis++ == place.bad_axis ? as_written(subscripts) : index), ...);
  report(record, 1, slot + 65536 * place.bad_axis, index);
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
