// The end of a gradient that was added up in fp32 in the order of fragments: dQ after all key
// tiles, dK and dV after all partial results. One block a tile, a warpgroup a fragment of 64 rows;
// partial results are added in order, so bits do not depend on who came first.
#pragma once

#include "attention/gradient_finish_params.cuh"
#include "attention/gradient_rows.cuh"
#include "ptx/vector_memory.cuh"

namespace tilewright::cuda {

/// A variant is a struct with: Element, kDim, kColumns (of a fragment), kTileRows, kSplitsRows (the
/// second fragment lies 64 rows below the first, otherwise kColumns to its right). The body of a
/// kernel of 256 threads; grid batches * heads * tiles.
template <class Variant>
__device__ __forceinline__ void gradient_finish(const GradientFinishParams& params) {
  using Sums = Accumulator<Variant::kColumns>;
  const i32 block = static_cast<i32>(ptx::block_in_grid());
  const u32 thread = ptx::thread_in_block();
  const i32 fragment = static_cast<i32>(thread / 128);
  const float* from = params.sums + static_cast<i64>(block) * (2 * 64 * Variant::kColumns) +
                      fragment * (64 * Variant::kColumns) + thread % 128 * 4;
  Sums sums;
  sums.clear();
  for (i32 part = 0; part < params.parts; ++part, from += params.part_floats) {
#pragma unroll
    for (int e = 0; e < Sums::kElements; e += 4) {
      const ptx::Floats4 more = ptx::load_floats(from + e * 128);
      sums.value[e] += more.x;
      sums.value[e + 1] += more.y;
      sums.value[e + 2] += more.z;
      sums.value[e + 3] += more.w;
    }
  }

  const i32 stream = block / params.tiles;
  const i32 batch = stream / params.heads;
  const i32 tile = block - stream * params.tiles;
  const i32 first_row = params.cut.begin(tile) + (Variant::kSplitsRows ? fragment * 64 : 0);
  const i32 end_row = params.cut.end(tile, params.rows);
  const i32 first_column = Variant::kSplitsRows ? 0 : fragment * Variant::kColumns;
  const i32 columns = min(max(Variant::kDim - first_column, 0), Variant::kColumns);
  const i64 head = batch * params.batch_stride +
                   (stream - batch * params.heads) * params.head_stride +
                   first_column * params.column_stride;
  const FragmentLane lane = FragmentLane::of_thread();
  if (params.in_vectors != 0) {
    store_gradient_rows<typename Variant::Element>(
        sums, {.head = static_cast<u16*>(params.gradient) + head,
               .row_stride = params.row_stride,
               .first_row = first_row + lane.first_row,
               .end_row = end_row,
               .columns = columns,
               .factor = params.factor});
  } else {
    store_gradient_elements(sums, {.gradient = params.gradient,
                                   .kind = params.kind,
                                   .head = head,
                                   .row_stride = params.row_stride,
                                   .column_stride = params.column_stride,
                                   .first_row = first_row + lane.first_row,
                                   .first_column = lane.first_column,
                                   .end_row = end_row,
                                   .columns = columns,
                                   .factor = params.factor});
  }
}

}  // namespace tilewright::cuda
