// Min/max pyramids over captured tables, built before a kernel that classifies tiles by them.
//
// Layout     level k holds, line after line, one cell {min, max} for each 32 << k neighbours along
// the
//            axis; levels lie one after another, the last has one cell a line (mods/pyramid.cuh).
// Launch     lower levels: a block makes 256 cells of level 0 of one line and what follows from
// them,
//            levels 0 to 8, in shared memory; grid lines * ceil(extent / 8192).
//            Upper levels, where a line has more than 8192 entries: a block a line, each level from
//            the one below; grid lines, after the lower ones on the same stream.
// Memory     shared: 256 cells. Global: the table read once, cells written once, upper levels read.
// Numbers    i64 cells for integers and truth values (0, 1), float cells for floats: rounded
// outwards
//            for f64, {-inf, +inf} where a NaN lies.
#pragma once

#include "ptx/lane.cuh"
#include "ptx/named_barrier.cuh"
#include "ptx/numbers.cuh"

namespace tilewright::cuda {

/// The host fills it; src/backends/cuda/launch/pyramid_launch.h mirrors it.
struct PyramidParams {
  const void* table;
  void* cells;
  i64 lines;
  i64 extent;            ///< of the axis
  i64 stride;            ///< of the axis, in elements
  i64 line_extents[15];  ///< of the other axes, outermost first
  i64 line_strides[15];
  i32 line_axes;
  i32 dtype;  ///< DType: f64 f32 f16 bf16 i8 i16 i32 i64 u8 bool
  i32 levels;
  i32 upper;  ///< nonzero: levels from 9 on
};

/// Cells of one level of a line.
__device__ __forceinline__ i64 pyramid_line_cells(i64 extent, i32 level) {
  return ((extent - 1) >> (5 + level)) + 1;
}

struct IntegerCells {
  using Value = i64;
  static __device__ __forceinline__ Value lowest() { return -0x7fffffffffffffffll - 1; }
  static __device__ __forceinline__ Value highest() { return 0x7fffffffffffffffll; }
};
struct FloatCells {
  using Value = float;
  static __device__ __forceinline__ Value lowest() { return ptx::float_of(0xff800000u); }
  static __device__ __forceinline__ Value highest() { return ptx::float_of(0x7f800000u); }
};

template <class Cells>
struct PyramidCell {
  typename Cells::Value low;
  typename Cells::Value high;

  static __device__ __forceinline__ PyramidCell of_nothing() {
    return {Cells::highest(), Cells::lowest()};
  }
  __device__ __forceinline__ void add(typename Cells::Value value) {
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  __device__ __forceinline__ void join(const PyramidCell& other) {
    low = other.low < low ? other.low : low;
    high = other.high > high ? other.high : high;
  }
  __device__ __forceinline__ void know_nothing() {
    low = Cells::lowest();
    high = Cells::highest();
  }
};

__device__ __forceinline__ void add_float(PyramidCell<FloatCells>& cell, float value) {
  if (value != value) return cell.know_nothing();
  cell.add(value);
}

/// The floats on either side of a double.
__device__ __forceinline__ void add_double(PyramidCell<FloatCells>& cell, double value) {
  const float near = static_cast<float>(value);
  add_float(cell, near);
  if (static_cast<double>(near) == value) return;
  const float step = ptx::magnitude(near) * 1.1920929e-7f + 1.17549435e-38f;
  add_float(cell, near - step);
  add_float(cell, near + step);
}

/// Adds element `index` of the table.
__device__ __forceinline__ void add_element(PyramidCell<FloatCells>& cell,
                                            const PyramidParams& params, i64 index) {
  switch (params.dtype) {
    case 0:
      return add_double(cell, static_cast<const double*>(params.table)[index]);
    case 1:
      return add_float(cell, static_cast<const float*>(params.table)[index]);
    case 2:
      return add_float(cell, ptx::to_float(F16{}, static_cast<const u16*>(params.table)[index]));
    default:
      return add_float(cell, ptx::to_float(Bf16{}, static_cast<const u16*>(params.table)[index]));
  }
}

__device__ __forceinline__ void add_element(PyramidCell<IntegerCells>& cell,
                                            const PyramidParams& params, i64 index) {
  switch (params.dtype) {
    case 4:
      return cell.add(static_cast<const signed char*>(params.table)[index]);
    case 5:
      return cell.add(static_cast<const short*>(params.table)[index]);
    case 6:
      return cell.add(static_cast<const i32*>(params.table)[index]);
    case 7:
      return cell.add(static_cast<const i64*>(params.table)[index]);
    case 8:
      return cell.add(static_cast<const u8*>(params.table)[index]);
    default:
      return cell.add(static_cast<const u8*>(params.table)[index] != 0 ? 1 : 0);
  }
}

/// Offset of a line's first element.
__device__ __forceinline__ i64 pyramid_line_offset(const PyramidParams& params, i64 line) {
  i64 offset = 0;
  for (i32 axis = params.line_axes - 1; axis >= 0; --axis) {
    offset += line % params.line_extents[axis] * params.line_strides[axis];
    line /= params.line_extents[axis];
  }
  return offset;
}

inline constexpr int kPyramidThreads = 256;
inline constexpr int kPyramidLowerLevels = 9;

/// Levels 0 to 8 over 8192 entries of a line.
template <class Cells>
__device__ __forceinline__ void build_lower_levels(const PyramidParams& params) {
  __shared__ PyramidCell<Cells> shared[kPyramidThreads];
  const i64 chunks = (params.extent + 8191) / 8192;
  const i64 line = ptx::block_in_grid() / chunks;
  const i64 chunk = ptx::block_in_grid() - line * chunks;
  const u32 thread = ptx::thread_in_block();
  const i64 begin = chunk * 8192 + static_cast<i64>(thread) * 32;
  const i64 end = begin + 32 < params.extent ? begin + 32 : params.extent;
  const i64 offset = pyramid_line_offset(params, line);
  PyramidCell<Cells> cell = PyramidCell<Cells>::of_nothing();
  for (i64 i = begin; i < end; ++i) add_element(cell, params, offset + i * params.stride);

  PyramidCell<Cells>* level_cells = static_cast<PyramidCell<Cells>*>(params.cells);
  for (i32 level = 0; level < kPyramidLowerLevels && level < params.levels; ++level) {
    const u32 count = kPyramidThreads >> level;
    const i64 line_cells = pyramid_line_cells(params.extent, level);
    if (level > 0 && thread < count) {
      cell = shared[2 * thread];
      cell.join(shared[2 * thread + 1]);
    }
    ptx::sync_block();
    const i64 index = chunk * count + thread;
    if (thread < count) shared[thread] = cell;
    if (thread < count && index < line_cells) level_cells[line * line_cells + index] = cell;
    ptx::sync_block();
    level_cells += line_cells * params.lines;
  }
}

/// Levels from 9 on of one line, each from the one below.
template <class Cells>
__device__ __forceinline__ void build_upper_levels(const PyramidParams& params) {
  const i64 line = ptx::block_in_grid();
  PyramidCell<Cells>* below = static_cast<PyramidCell<Cells>*>(params.cells);
  for (i32 level = 0; level < kPyramidLowerLevels - 1; ++level)
    below += pyramid_line_cells(params.extent, level) * params.lines;
  for (i32 level = kPyramidLowerLevels; level < params.levels; ++level) {
    const i64 below_cells = pyramid_line_cells(params.extent, level - 1);
    const i64 line_cells = pyramid_line_cells(params.extent, level);
    PyramidCell<Cells>* const here = below + below_cells * params.lines;
    for (i64 i = ptx::thread_in_block(); i < line_cells; i += kPyramidThreads) {
      PyramidCell<Cells> cell = below[line * below_cells + 2 * i];
      if (2 * i + 1 < below_cells) cell.join(below[line * below_cells + 2 * i + 1]);
      here[line * line_cells + i] = cell;
    }
    ptx::sync_block();
    below = here;
  }
}

template <class Cells>
__device__ __forceinline__ void build_pyramid_levels(const PyramidParams& params) {
  if (params.upper != 0) {
    build_upper_levels<Cells>(params);
  } else {
    build_lower_levels<Cells>(params);
  }
}

/// The body of a kernel of kPyramidThreads threads.
__device__ __forceinline__ void build_pyramid(const PyramidParams& params) {
  constexpr i32 kFirstIntegerType = 4;
  if (params.dtype >= kFirstIntegerType) {
    build_pyramid_levels<IntegerCells>(params);
  } else {
    build_pyramid_levels<FloatCells>(params);
  }
}

}  // namespace tilewright::cuda
