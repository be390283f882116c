// Captured tensors and numbers as the parameter block holds them, and reading an element of one
// (semantics R8): a negative subscript wraps once, nothing outside a tensor is ever read.
#pragma once

#include "mods/integers.cuh"
#include "ptx/numbers.cuh"

namespace tilewright::cuda::mods {

/// Strides count elements; an axis of extent 1 has stride 0.
template <class Stored, int kRank>
struct Capture {
  const Stored* data;
  i64 extent[kRank];
  i64 stride[kRank];
};
template <class Stored>
struct Capture<Stored, 0> {
  const Stored* data;
};

struct IntegerNumber {
  i64 wide;
  i32 narrow;
  i32 unused;
};
struct RealNumber {
  double wide;
  float narrow;
  i32 unused;
};

/// Element types that C++ has no arithmetic for.
struct StoredF16 {
  u16 bits;
};
struct StoredBf16 {
  u16 bits;
};
struct StoredBool {
  u8 byte;
};

template <class Value, class Stored>
__device__ __forceinline__ Value value_of(Stored element) {
  return static_cast<Value>(element);
}
template <class Value>
__device__ __forceinline__ Value value_of(StoredF16 element) {
  return static_cast<Value>(ptx::to_float(F16{}, element.bits));
}
template <class Value>
__device__ __forceinline__ Value value_of(StoredBf16 element) {
  return static_cast<Value>(ptx::to_float(Bf16{}, element.bits));
}
template <class Value>
__device__ __forceinline__ Value value_of(StoredBool element) {
  return element.byte != 0;
}

/// A subscript that is never negative: b, h, q or kv itself.
template <class Int>
struct FromZero {
  Int index;
};

/// Where indices have 32 bits none comes near an extent that has more.
template <class Int>
__device__ __forceinline__ Int narrowed(i64 extent) {
  constexpr i64 kMost = Integers<Int>::kHighest;
  return static_cast<Int>(extent < kMost ? extent : kMost);
}

template <class Int>
__device__ __forceinline__ Int wrapped(FromZero<Int> written, Int) {
  return written.index;
}
template <class Int>
__device__ __forceinline__ Int wrapped(Int written, Int extent) {
  return written < 0 ? Integers<Int>::iadd(written, extent) : written;
}

/// The element that subscripts name.
template <class Int>
struct Place {
  Int offset = 0;
  bool inside = true;
};

template <class Int>
__device__ __forceinline__ bool is_inside(Int index, Int extent) {
  using Unsigned = typename UnsignedOf<Int>::Type;
  return static_cast<Unsigned>(index) < static_cast<Unsigned>(extent);
}

template <class Int, class Stored, int kRank, class Written>
__device__ __forceinline__ void step_along(Place<Int>& place, const Capture<Stored, kRank>& tensor,
                                           int axis, Written written) {
  using I = Integers<Int>;
  const Int extent = narrowed<Int>(tensor.extent[axis]);
  const Int index = wrapped(written, extent);
  place.inside = place.inside && is_inside(index, extent);
  place.offset = I::iadd(place.offset, I::imul(index, static_cast<Int>(tensor.stride[axis])));
}

template <class Int, class Stored, int kRank, class... Written>
__device__ __forceinline__ Place<Int> locate(const Capture<Stored, kRank>& tensor,
                                             Written... subscripts) {
  Place<Int> place;
  int axis = 0;
  (step_along(place, tensor, axis++, subscripts), ...);
  return place;
}

/// Of a step into `axis`: the number of the element among all, row-major; -1 outside the tensor.
template <class Int, class Stored, int kRank, class Written>
__device__ __forceinline__ void number_along(i64& number, const Capture<Stored, kRank>& tensor,
                                             int axis, Written written) {
  const Int extent = narrowed<Int>(tensor.extent[axis]);
  const Int index = wrapped(written, extent);
  const bool inside = number >= 0 && is_inside(index, extent);
  number = inside ? number * tensor.extent[axis] + index : -1;
}

template <class Int, class Stored, int kRank, class... Written>
__device__ __forceinline__ i64 number_of(const Capture<Stored, kRank>& tensor,
                                         Written... subscripts) {
  i64 number = 0;
  int axis = 0;
  (number_along<Int>(number, tensor, axis++, subscripts), ...);
  return number;
}

/// The element, or 0 where it is dead or lies outside.
template <class Value, class Int, class Stored, int kRank, class... Written>
__device__ __forceinline__ Value element(const Capture<Stored, kRank>& tensor, bool live,
                                         Written... subscripts) {
  const Place<Int> place = locate<Int>(tensor, subscripts...);
  Value value = 0;
  if (live && place.inside) value = value_of<Value>(tensor.data[place.offset]);
  return value;
}

template <class Int, class Stored, int kRank, class Written>
__device__ __forceinline__ void step_inside(Int& offset, const Capture<Stored, kRank>& tensor,
                                            int axis, Written written) {
  using Unsigned = typename UnsignedOf<Int>::Type;
  using I = Integers<Int>;
  const Int extent = narrowed<Int>(tensor.extent[axis]);
  const auto index = static_cast<Unsigned>(wrapped(written, extent));
  const auto last = static_cast<Unsigned>(extent - 1);
  offset = I::iadd(offset, I::imul(static_cast<Int>(index < last ? index : last),
                                   static_cast<Int>(tensor.stride[axis])));
}

/// The element where every live subscript is known to lie inside a tensor that is not empty: dead
/// ones are moved inside, and nothing is compared. 0 behind a false guard.
template <class Value, class Int, class Stored, int kRank, class... Written>
__device__ __forceinline__ Value proven_element(const Capture<Stored, kRank>& tensor, bool live,
                                                Written... subscripts) {
  Int offset = 0;
  int axis = 0;
  (step_inside(offset, tensor, axis++, subscripts), ...);
  const Value value = value_of<Value>(tensor.data[offset]);
  return live ? value : Value{0};
}

template <class Int>
__device__ __forceinline__ Int written_index(FromZero<Int> written) {
  return written.index;
}
template <class Int>
__device__ __forceinline__ Int written_index(Int written) {
  return written;
}

/// Whether the element that the subscripts name and those of the `last` next subscripts of an axis,
/// lower ones (kDescends) or higher ones, all exist and lie side by side; where: `run`.
template <class Int, int kAxis, bool kDescends, class Stored, int kRank, class... Written>
__device__ __forceinline__ bool find_run(const Capture<Stored, kRank>& tensor, i32 last,
                                         const Stored*& run, Written... subscripts) {
  const Int written[] = {written_index<Int>(subscripts)...};
  const Place<Int> place = locate<Int>(tensor, subscripts...);
  run = tensor.data + place.offset;
  const Int index = written[kAxis];
  const bool fits =
      kDescends ? index >= last : index >= 0 && index < narrowed<Int>(tensor.extent[kAxis]) - last;
  return place.inside && fits && tensor.stride[kAxis] == 1;
}

}  // namespace tilewright::cuda::mods
