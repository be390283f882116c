// Range of a stretch of a captured table, from the min/max pyramid that the runtime builds over it
// before the kernel starts. A stretch is rounded outwards to whole cells: never too narrow.
#pragma once

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

/// Cells [first, last] of one line of one level.
struct CellSpan {
  i64 first;
  i32 count;
};

/// The finest level on which entries [low, high] of a line meet at most 8 cells.
__device__ __forceinline__ CellSpan cells_over(const Pyramid& pyramid, i64 line, i64 low,
                                               i64 high) {
  i64 level_begin = 0;
  int shift = 5;
  while ((high >> shift) - (low >> shift) >= 8) {
    level_begin += (((pyramid.extent - 1) >> shift) + 1) * pyramid.lines;
    ++shift;
  }
  const i64 line_cells = ((pyramid.extent - 1) >> shift) + 1;
  const i64 first = low >> shift;
  return {level_begin + line * line_cells + first, static_cast<i32>((high >> shift) - first) + 1};
}

/// Entries [written.low, written.high] after the wrap of negative subscripts, and whether some lie
/// outside the line and read 0.
struct EntrySpan {
  i64 low;
  i64 high;
  bool may_leave;
  bool is_inside;  ///< some lie inside
};

template <class Int>
__device__ __forceinline__ EntrySpan entries(IntRange<Int> written, i64 extent) {
  using W = Integers<i64>;
  const i64 low = W::imax(written.low, -extent), high = W::imin(written.high, extent - 1);
  EntrySpan span = {low, high, written.low < -extent || written.high >= extent, low <= high};
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
  const EntrySpan span = entries(written, pyramid.extent);
  if (pyramid.cells == nullptr) return R::any();
  if (line < 0 || !span.is_inside) return R::single(0);
  const CellSpan cells = cells_over(pyramid, line, span.low, span.high);
  const IntegerCell* cell = static_cast<const IntegerCell*>(pyramid.cells) + cells.first;
  i64 low = cell->low, high = cell->high;
  for (i32 k = 1; k < cells.count; ++k) {
    low = cell[k].low < low ? cell[k].low : low;
    high = cell[k].high > high ? cell[k].high : high;
  }
  const IntRange<Int> found = R::within(low, high);
  return span.may_leave || may_be_dead ? R::hull(found, {0, 0}) : found;
}

/// The same of a table of floats.
template <class Real, class Int>
__device__ __forceinline__ RealRange<Real> real_entries_range(const Pyramid& pyramid, i64 line,
                                                              IntRange<Int> written,
                                                              bool may_be_dead) {
  using R = RealRanges<Real>;
  const EntrySpan span = entries(written, pyramid.extent);
  if (pyramid.cells == nullptr) return R::any();
  if (line < 0 || !span.is_inside) return R::single(0);
  const CellSpan cells = cells_over(pyramid, line, span.low, span.high);
  const RealCell* cell = static_cast<const RealCell*>(pyramid.cells) + cells.first;
  RealRange<Real> found = {cell->low, cell->high, false};
  for (i32 k = 1; k < cells.count; ++k) {
    found = R::hull(found, {cell[k].low, cell[k].high, false});
  }
  // A cell with a NaN in it reaches from -inf to +inf.
  if (!(found.high - found.low <= 3.402823466e38f)) found = R::any();
  return span.may_leave || may_be_dead ? R::hull(found, R::single(0)) : found;
}

}  // namespace tilewright::cuda::mods
