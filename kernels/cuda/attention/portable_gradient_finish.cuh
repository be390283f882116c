// The end of a gradient that was added up in fp32 in cells (gradient_cells.cuh): dQ after all key
// tiles, dK and dV after all partial results, which are added in order, so that bits do not depend
// on who came first. One block a tile, a warp a group of 16 rows at a time.
#pragma once

#include "attention/gradient_cells.cuh"
#include "attention/gradient_finish_params.cuh"
#include "attention/gradient_rows.cuh"
#include "tile/store_columns.cuh"

namespace tilewright::cuda {

template <class Element>
inline constexpr FloatKind kKindOf = FloatKind::kF32;
template <>
inline constexpr FloatKind kKindOf<Bf16> = FloatKind::kBf16;
template <>
inline constexpr FloatKind kKindOf<F16> = FloatKind::kF16;

/// kTileRows x kTileColumns: what a tile of sums has room for, multiples of 16.
template <class Element, int kTileRows, int kTileColumns>
struct PortableGradientFinish {
  using Cells = GradientCells<kTileRows, kTileColumns>;
  static constexpr int kThreads = 256;
  static constexpr int kColumns = kTileColumns % 32 == 0 ? 32 : 16;
  using Sums = Accumulator<kColumns>;

  const GradientFinishParams& params;

  __device__ __forceinline__ void run() const {
    constexpr i32 kSections = kTileColumns / kColumns;
    const i32 warp = static_cast<i32>(ptx::thread_in_block() / 32);
    for (i32 part = warp; part < Cells::kRowGroups * kSections; part += kThreads / 32) {
      finish(part / kSections, part % kSections * kColumns);
    }
  }

 private:
  __device__ __forceinline__ void finish(i32 row_group, i32 first_column) const {
    const i32 block = static_cast<i32>(ptx::block_in_grid());
    const u32 lane = ptx::thread_in_block() % 32;
    const i32 stream = block / params.tiles;
    const i32 batch = stream / params.heads;
    const i32 tile = block - stream * params.tiles;
    const i32 first_row = params.cut.begin(tile);
    const i32 in_tile = row_group * 16 + static_cast<i32>(lane / 4);
    const i64 head = batch * params.batch_stride +
                     (stream - batch * params.heads) * params.head_stride +
                     first_column * params.column_stride;
    const i32 end_row = params.cut.end(tile, params.rows);
    const i32 columns = min(params.dim - first_column, kColumns);
    const Sums sums = sum_of_parts(block, row_group, first_column, lane);
    if (params.kind == kKindOf<Element>) {
      store_rows(sums, head, first_row + in_tile, {end_row, columns});
    } else {
      store_gradient_elements(sums, {.gradient = params.gradient,
                                     .kind = params.kind,
                                     .head = head,
                                     .row_stride = params.row_stride,
                                     .column_stride = params.column_stride,
                                     .first_row = first_row + in_tile,
                                     .first_column = static_cast<i32>(lane % 4 * 2),
                                     .end_row = end_row,
                                     .columns = columns,
                                     .factor = params.factor});
    }
  }

  struct Limits {
    i32 end_row;
    i32 columns;
  };

  __device__ __forceinline__ void store_rows(const Sums& sums, i64 head, i32 first_row,
                                             Limits limits) const {
    const ColumnTarget target = {params.gradient, params.column_stride, limits.columns,
                                 params.in_vectors};
#pragma unroll
    for (int slot = 0; slot < kRowsPerThread; ++slot) {
      const i32 row = first_row + 8 * slot;
      ColumnStore<Element, kColumns>::run([&](int e) { return sums.value[e] * params.factor; },
                                          slot, head + row * params.row_stride, target,
                                          row < limits.end_row);
    }
  }

  __device__ __forceinline__ Sums sum_of_parts(i32 block, i32 row_group, i32 first_column,
                                               u32 lane) const {
    Sums sums;
    sums.clear();
    const float* tile = params.sums + block * Cells::kFloats;
    for (i32 part = 0; part < params.parts; ++part, tile += params.part_floats) {
#pragma unroll
      for (int group = 0; group < kColumns / 8; ++group) {
        const ptx::Floats4 more =
            load_cell(Cells::cell(tile, row_group, first_column / 8 + group), lane);
        sums.value[4 * group] += more.x;
        sums.value[4 * group + 1] += more.y;
        sums.value[4 * group + 2] += more.z;
        sums.value[4 * group + 3] += more.w;
      }
    }
    return sums;
  }
};

}  // namespace tilewright::cuda
