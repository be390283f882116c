#pragma once

#include "backends/cuda/backward_rows.h"
#include "backends/cuda/launch/backward_params.h"
#include "backends/cuda/launch/launch_site.h"

namespace tilewright::cuda {

/// Where and with what one backward call happens; the context is current.
struct BackwardSite {
  const backends::BackwardLaunch& launch;
  const BackwardRow& row;
  Gpu& gpu;
  bool ordered = false;     ///< additions have a fixed order
  DeviceAddress error = 0;  ///< the ErrorRecord; 0 outside checked mode
  DeviceAddress counters = 0;
  params::SpanLists lists = {};     ///< of a row that walks them
  params::KeyLengths lengths = {};  ///< where the call brings them
};

/// The workspace of a call: bytes of each part, 0 for what the call does without, and where it
/// lies.
struct BackwardSpace {
  struct Part {
    std::size_t bytes = 0;
    DeviceAddress address = 0;
  };
  Part minus_lse, delta, d_query_sums, turns, d_out_copy, d_key_sums, d_value_sums, key_maps;

  std::size_t bytes() const noexcept;
  /// Lays the parts out from an address that is a multiple of 256.
  void place(DeviceAddress at) noexcept;
};

/// How a call is cut into tiles and items.
struct BackwardCut {
  std::int64_t q_tiles = 0;
  params::QueryCut rows;  ///< into query tiles
  std::int64_t kv_tiles = 0;
  std::int64_t parts = 1;  ///< items that share the query heads of a key tile
  std::int64_t items = 0;
};
/// Query rows into tiles of at most `query_tile` rows. With lists (block_rows not 0) a tile lies in
/// one block of query rows, and the tiles of a block are as even as can be.
params::QueryCut query_cut(std::int64_t query_tile, std::int64_t block_rows) noexcept;
std::int64_t query_tiles(const params::QueryCut& cut, std::int64_t q_len) noexcept;

/// uneven: items differ in length, since a mask skips tiles.
BackwardCut cut_of(const BackwardRow& row, const Problem& problem, bool ordered,
                   int multiprocessors, bool uneven);
/// With lists: each query tile in one block of query rows.
void keep_in_blocks(BackwardCut& cut, const Problem& problem, std::int64_t block_rows) noexcept;

/// What a call needs, by its tensors.
BackwardSpace backward_space(const BackwardSite& site, const BackwardCut& cut);
/// The most that a call of this problem takes, however its tensors lie.
std::size_t backward_space_bytes(const BackwardRow& row, const Problem& problem, bool ordered,
                                 int multiprocessors, bool uneven);

/// Heads of all batches: of queries, and of keys.
inline std::int64_t streams_of(const Problem& problem) noexcept {
  return problem.batch * problem.query_heads;
}
inline std::int64_t key_heads_of(const Problem& problem) noexcept {
  return problem.kv_batch * problem.kv_heads;
}

params::Extents extents_of(const Problem& problem) noexcept;

/// Columns of the copy of d_out: whole groups of 8.
inline std::int64_t padded_value_columns(const Problem& problem) noexcept {
  return (problem.value_dim + 7) / 8 * 8;
}
params::TensorStrides d_out_copy_strides(const Problem& problem) noexcept;

/// Whether rows can be read or written 16 bytes at a time: the element type, columns side by side,
/// whole groups of 8.
bool lies_in_vectors(const TensorView& tensor, DType element) noexcept;

}  // namespace tilewright::cuda
