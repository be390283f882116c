// The parameter of the kernels that end a gradient, in both backward families.
#pragma once

#include "attention/float_tensor.cuh"
#include "attention/query_cut.cuh"

namespace tilewright::cuda {

/// Launch: grid batches * heads * tiles, blocks of 256 threads, no shared memory.
struct GradientFinishParams {
  const float* sums;  ///< [part, batches, heads, tiles, a tile's values as its kernel leaves them]
  void* gradient;     ///< [batches, heads, rows, dim]
  i64 part_floats;    ///< from one part to the next
  i64 batch_stride;   ///< of the gradient, in elements
  i64 head_stride;
  i64 row_stride;
  i64 column_stride;
  i32 heads;
  i32 rows;
  i32 tiles;
  i32 parts;
  float factor;
  FloatKind kind;
  /// Nonzero where the gradient has the element type, column stride 1, a base and other strides
  /// that are multiples of 16 bytes, and a multiple of 8 columns.
  i32 in_vectors;
  i32 dim;
  QueryCut cut;  ///< of the rows into tiles
};

}  // namespace tilewright::cuda
