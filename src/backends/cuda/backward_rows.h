#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/kernel_row.h"

namespace tilewright::cuda {

/// One instantiation of attention/hopper_backward.cuh or attention/portable_backward.cuh. `name`
/// reads family, query tile, stages: "hopper_backward_m64_s22"; or family, warps along keys and
/// columns, strips, query tile and chunk, stages, bytes of a copy:
/// "portable_backward_w4x2_k2_q64c32_s22_c16".
struct BackwardRow {
  std::string name;
  Family family = Family::kHopper;
  int threads = 384;
  int query_tile = 64;
  int key_tile = 128;
  bool splits_keys = true;  ///< hopper: each warpgroup has half the keys, else half the columns
  int query_stages = 2;
  int grad_stages = 2;
  std::int64_t max_head_dim = 128;
  std::int64_t block_shared_bytes = 0;  ///< what the device gives a block
  bool walks_lists = false;             ///< span lists say which pairs are visited
  bool reads_lengths = false;  ///< hopper: key lengths on the device; portable rows always may

  // The portable family: the members of a variant in attention/portable_backward_layout.cuh.
  int key_warps = 0;
  int column_warps = 0;
  int strips = 0;
  int chunk = 0;
  int sum_strips = 0;
  int dim_unit = 8;     ///< E and Ev are rounded up to it
  int copy_bytes = 16;  ///< 16 needs aligned rows; smaller ones take any strides

  /// Columns of the portable family's tiles of a head dim or value dim.
  std::int64_t tile_columns(std::int64_t dim) const noexcept;
  /// fp32 values of a tile's dQ, dK and dV as the kernels lay them (BackwardLayout, GradientCells).
  std::int64_t query_sum_floats(std::int64_t head_dim) const noexcept;
  std::int64_t key_sum_floats(std::int64_t dim) const noexcept;
  /// Columns of a Hopper warpgroup's fragments.
  std::int64_t query_columns(std::int64_t head_dim) const noexcept;
  std::int64_t key_columns(std::int64_t dim) const noexcept;
  int score_columns() const noexcept { return splits_keys ? query_tile : query_tile / 2; }
  bool sums_by_rows() const noexcept { return query_tile == 128; }
};

struct BackwardCandidate {
  BackwardRow row;
  std::string rejection;  ///< empty: it may serve
  bool fast = true;       ///< false: refused under require_fast
};

/// Every row, most preferred first, each usable or with its rejection.
std::vector<BackwardCandidate> backward_candidates(const RowQuestion& question);

/// Dynamic shared memory of a block: kBytes of the kernel's layout.
std::int64_t backward_shared_bytes(const BackwardRow& row, const Problem& problem);

}  // namespace tilewright::cuda
