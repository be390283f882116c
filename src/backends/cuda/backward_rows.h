#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/kernel_row.h"

namespace tilewright::cuda {

/// One instantiation of attention/hopper_backward.cuh. `name` reads family, query tile, stages:
/// "hopper_backward_m64_s22".
struct BackwardRow {
  std::string name;
  int threads = 384;
  int query_tile = 64;
  int key_tile = 128;
  bool splits_keys = true;  ///< each warpgroup has half the keys, otherwise half the columns
  int query_stages = 2;
  int grad_stages = 2;
  std::int64_t max_head_dim = 128;

  /// fp32 values of a tile's dQ, dK and dV in the order of fragments (BackwardLayout).
  std::int64_t query_sum_floats(std::int64_t head_dim) const noexcept;
  std::int64_t key_sum_floats(std::int64_t dim) const noexcept;
  /// Columns of a warpgroup's fragments.
  std::int64_t query_columns(std::int64_t head_dim) const noexcept;
  std::int64_t key_columns(std::int64_t dim) const noexcept;
  int score_columns() const noexcept { return splits_keys ? query_tile : query_tile / 2; }
  bool sums_by_rows() const noexcept { return query_tile == 128; }
};

struct BackwardCandidate {
  BackwardRow row;
  std::string rejection;  ///< empty: it may serve
};

/// Every row, most preferred first, each usable or with its rejection.
std::vector<BackwardCandidate> backward_candidates(const RowQuestion& question);

/// Dynamic shared memory of a block: BackwardLayout::kBytes.
std::int64_t backward_shared_bytes(const BackwardRow& row, const Problem& problem);

}  // namespace tilewright::cuda
