// Range of a stretch of a captured table, from the min/max pyramid that the runtime builds over it
// before the kernel starts. A stretch is rounded outwards to whole cells: never too narrow.
#pragma once

#include "mods/captures.cuh"
#include "mods/real_ranges.cuh"

namespace tilewright::cuda::mods {

/// Level k holds, line after line, one cell for each 32 << k neighbours; levels lie one after
/// another. No cells: nothing is known of the table.
struct Pyramid {
  const void* cells;
  i64 lines;
  i64 extent;  ///< entries of a line
};

struct alignas(16) IntegerCell {
  i64 low;
  i64 high;
};
struct alignas(8) RealCell {
  float low;
  float high;
};

/// Neighbouring cells of one line of one level.
struct CellSpan {
  i64 first;
  i32 count;
};

/// The finest level on which entries [low, high] of a line meet at most 8 cells.
template <class Int>
__device__ __forceinline__ CellSpan cells_over(const Pyramid& pyramid, Int line, Int low,
                                               Int high) {
  const Int last = static_cast<Int>(pyramid.extent) - 1, lines = static_cast<Int>(pyramid.lines);
  Int level_begin = 0;
  int shift = 5;
  while ((high >> shift) - (low >> shift) >= 8) {
    level_begin += ((last >> shift) + 1) * lines;
    ++shift;
  }
  const Int first = low >> shift;
  return {level_begin + line * ((last >> shift) + 1) + first,
          static_cast<i32>((high >> shift) - first) + 1};
}

/// Entries [low, high] after the wrap of negative subscripts, and whether some lie outside the line
/// and read 0.
template <class Int>
struct EntrySpan {
  Int low;
  Int high;
  bool may_leave;
  bool is_inside;  ///< some lie inside
};

template <class Int>
__device__ __forceinline__ EntrySpan<Int> entries(IntRange<Int> written, i64 line_extent) {
  using I = Integers<Int>;
  const Int extent = narrowed<Int>(line_extent);
  const Int low = I::imax(written.low, -extent), high = I::imin(written.high, extent - 1);
  EntrySpan<Int> span = {low, high, written.low < -extent || written.high >= extent, low <= high};
  if (low < 0) {
    const bool all_negative = high < 0;
    span.low = all_negative ? low + extent : 0;
    span.high = all_negative ? high + extent : extent - 1;
  }
  return span;
}

/// The number of a line, row-major over the axes beside the pyramid's: one more of them. -1: a
/// subscript lies outside, every entry reads 0.
__device__ __forceinline__ i64 next_line(i64 line, i64 written, i64 extent) {
  const i64 index = written < 0 ? written + extent : written;
  const bool outside = index < 0 || index >= extent;
  return line < 0 || outside ? -1 : line * extent + index;
}

template <class Int>
__device__ __forceinline__ TruthRange truth_of(IntRange<Int> zero_or_one) {
  return {zero_or_one.low <= 0, zero_or_one.high > 0};
}

/// What a table of integers or truth values (as 0 and 1) holds at subscripts of this range along
/// the pyramid's axis.
template <class Int>
__device__ __forceinline__ IntRange<Int> entries_range(const Pyramid& pyramid, i64 line,
                                                       IntRange<Int> written, bool may_be_dead) {
  using R = IntegerRanges<Int>;
  const EntrySpan<Int> span = entries(written, pyramid.extent);
  if (pyramid.cells == nullptr) return R::any();
  if (line < 0 || !span.is_inside) return R::single(0);
  const CellSpan cells = cells_over<Int>(pyramid, static_cast<Int>(line), span.low, span.high);
  const IntegerCell* cell = static_cast<const IntegerCell*>(pyramid.cells) + cells.first;
  IntRange<Int> found = R::within(cell->low, cell->high);
#pragma unroll 1
  for (i32 k = 1; k < cells.count; ++k) {
    ++cell;
    found = R::hull(found, R::within(cell->low, cell->high));
  }
  return span.may_leave || may_be_dead ? R::hull(found, {0, 0}) : found;
}

/// The same of a table of floats.
template <class Real, class Int>
__device__ __forceinline__ RealRange<Real> real_entries_range(const Pyramid& pyramid, i64 line,
                                                              IntRange<Int> written,
                                                              bool may_be_dead) {
  using R = RealRanges<Real>;
  const EntrySpan<Int> span = entries(written, pyramid.extent);
  if (pyramid.cells == nullptr) return R::any();
  if (line < 0 || !span.is_inside) return R::single(0);
  const CellSpan cells = cells_over<Int>(pyramid, static_cast<Int>(line), span.low, span.high);
  const RealCell* cell = static_cast<const RealCell*>(pyramid.cells) + cells.first;
  RealRange<Real> found = {cell->low, cell->high, false};
#pragma unroll 1
  for (i32 k = 1; k < cells.count; ++k) {
    found = R::hull(found, {cell[k].low, cell[k].high, false});
  }
  // A cell with a NaN in it reaches from -inf to +inf.
  if (!(found.high - found.low <= 3.402823466e38f)) found = R::any();
  return span.may_leave || may_be_dead ? R::hull(found, R::single(0)) : found;
}

}  // namespace tilewright::cuda::mods
