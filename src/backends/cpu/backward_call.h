#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/forward_call.h"
#include "ir/differentiate.h"
#include "tilewright/backward.h"

namespace tilewright::cpu {

/// A captured tensor whose gradient is asked for.
struct CaptureTarget {
  std::size_t slot = 0;
  TensorView gradient;
};

/// One backward call in the terms of the tile loop. Everything it points to outlives the call.
struct BackwardCall {
  const MicroKernel* kernel = nullptr;
  const LoadedPass* pass = nullptr;  ///< that of the backward (gradient_pass.h)
  PassCall pass_call;
  const Problem* problem = nullptr;
  const MaskMap* map = nullptr;  ///< null: every key of every row, masked where there is a mask_mod
  const TensorView* kv_lengths = nullptr;  ///< null: every batch entry has KV keys
  bool has_mask = false;
  bool lists_rule = false;  ///< full spans must not be merged with partial ones (semantics R3)
  std::int64_t q_tile_rows = 0;
  std::int64_t kv_tile_tokens = 0;
  std::size_t column_scratch_bytes = 0;
  const BackwardInputs* inputs = nullptr;
  const BackwardOutputs* outputs = nullptr;
  const ir::Derivative* derivative = nullptr;
  std::vector<CaptureTarget> captures;
  bool claims_unit_by_unit = false;  ///< see capture_gradients.h

  std::int64_t keys_of(std::int64_t b) const {
    return backends::key_length(kv_lengths, *problem, b);
  }
  bool wants_d_score() const { return derivative->d_score && (outputs->d_query || outputs->d_key); }
  bool wants_d_query() const { return derivative->d_score && outputs->d_query.has_value(); }
  bool wants_d_key() const { return derivative->d_score && outputs->d_key.has_value(); }
  bool wants_d_value() const { return outputs->d_value.has_value(); }
  /// The compiled pass reads dP if it has any derivative, asked for in this call or not.
  bool reads_d_prob() const { return derivative->d_score || !derivative->loads.empty(); }
};

/// A (batch, kv head) pair is a unit: its keys and values get their gradients from all rows of all
/// query heads of its group (and of every batch entry where Bkv = 1), in one fixed order.
struct RowBlock {
  std::int64_t b = 0;  ///< counted from the unit's first batch entry
  std::int64_t h = 0;  ///< counted from the group's first query head
  std::int64_t q_begin = 0;
  std::int64_t q_rows = 0;
};

/// Tile sizes of the backward for a micro-kernel: the same for every problem, because sums are
/// taken tile by tile.
struct BackwardTile {
  std::int64_t q_rows = 0;
  std::int64_t kv_tokens = 0;
};
BackwardTile backward_tile(const MicroKernel& kernel);

/// The row blocks of every unit, in the order in which they are summed.
std::vector<RowBlock> row_blocks(const BackwardCall& call);

/// Byte sizes and strides of the scratch memory of a call. "A" operands are row-major, "B" operands
/// are panels (micro_kernel.h).
struct BackwardLayout {
  std::int64_t real_bytes = 4;
  std::int64_t compute_bytes = 4;
  std::int64_t score_stride = 0;
  std::int64_t head_cols = 0;      ///< E padded
  std::int64_t value_cols = 0;     ///< Ev padded
  std::int64_t turned_stride = 0;  ///< rows of a tile as the depth of a product; 0: not transposed

  // One row block.
  std::size_t query_a = 0, query_b = 0, d_out_a = 0, d_out_b = 0, statistic = 0, d_query = 0;
  std::size_t block_bytes = 0;

  // One worker.
  std::size_t key_b = 0, key_turned = 0, value_b = 0, d_key = 0, d_value = 0;
  std::size_t score = 0, prob = 0, turned = 0, staging = 0, column_scratch = 0;
  std::size_t diagonal_key = 0, diagonal_score = 0;
  std::size_t worker_bytes = 0;
};

BackwardLayout backward_layout(const BackwardCall& call);

/// Runs the call. Returns the workspace bytes it used. `fault` keeps node -1 unless a live
/// subscript or divisor was bad.
std::size_t run_backward(const BackwardCall& call, const ForwardServices& services,
                         PassFault& fault);

}  // namespace tilewright::cpu
