#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/contract/key_lengths.h"
#include "backends/cpu/loaded_pass.h"
#include "backends/cpu/microkernels.h"
#include "backends/cpu/score_pass.h"
#include "tilewright/engine.h"
#include "tilewright/mask_map.h"

namespace tilewright::cpu {

/// Query rows of a kv head up to which keys and values are read in place: packing them would cost
/// more than it saves.
inline constexpr std::int64_t kDirectRows = 4;

/// Outputs of fewer numbers are too few for the rounding of P to average out: their products take
/// P in fp32, which only the direct ones do where the kernel's type is narrower.
inline constexpr std::int64_t kFewOutputs = 64;

/// One forward call in the terms of the tile loop. Everything it points to outlives the call.
struct ForwardCall {
  const MicroKernel* kernel = nullptr;
  const LoadedPass* pass = nullptr;
  PassCall pass_call;
  const Problem* problem = nullptr;
  const ForwardInputs* inputs = nullptr;
  const ForwardOutputs* outputs = nullptr;
  const MaskMap* map = nullptr;  ///< null: every key of every row, masked where there is a mask_mod
  const TensorView* kv_lengths = nullptr;  ///< null: every batch entry has KV keys
  bool has_mask = false;
  bool lists_rule = false;       ///< full spans must not be merged with partial ones (semantics R3)
  std::int64_t q_tile_rows = 0;  ///< most rows of an item, a multiple of score_rows
  std::int64_t score_rows = 0;   ///< most rows of a score tile
  std::int64_t kv_tile_tokens = 0;
  std::int64_t row_unit = 1;           ///< a product's rows cost as the next multiple of it
  std::int64_t step_price_pairs = 64;  ///< what a step costs beside its pairs
  std::int64_t split_tokens = 0;
  std::size_t column_scratch_bytes = 0;

  std::int64_t keys_of(std::int64_t b) const {
    return backends::key_length(kv_lengths, *problem, b);
  }
};

/// Byte sizes and strides of the scratch memory of a call.
struct ForwardLayout {
  bool direct = false;              ///< keys and values are not packed
  std::int64_t real_bytes = 4;      ///< of S, O and the row statistics
  std::int64_t score_cols = 0;      ///< columns of a score tile: kv_tile_tokens, padded
  std::int64_t out_cols = 0;        ///< Ev, padded
  std::size_t key_chunk_bytes = 0;  ///< packed keys of one kv tile
  std::size_t value_chunk_bytes = 0;
  std::int64_t chunks = 0;      ///< kv tiles of one kv head
  std::size_t head_bytes = 0;   ///< all chunks of one kv head
  std::size_t query_bytes = 0;  ///< one worker's packed queries of an item
  std::size_t score_bytes = 0;
  std::size_t prob_bytes = 0;
  std::size_t exact_prob_bytes = 0;  ///< fp32 beside a narrower prob, for direct products
  std::size_t out_bytes = 0;
  std::size_t statistics_bytes = 0;  ///< one array of one Real a row
  std::size_t worker_bytes = 0;      ///< all of one worker's buffers
  std::size_t partial_bytes = 0;     ///< one split item's rows and statistics
};

/// Whether keys and values are read in place.
bool reads_keys_in_place(const ForwardCall& call);

ForwardLayout forward_layout(const ForwardCall& call);

/// Bytes that a call with this problem takes at most on `threads` threads. Needs no tensors.
std::size_t forward_workspace_bytes(const ForwardCall& call, int threads);

class WorkerPool;
class WorkspacePool;

/// What a call borrows.
struct ForwardServices {
  const WorkerPool& workers;
  WorkspacePool& workspace;
  const HostServices& host;
};

/// Runs the call. Returns the workspace bytes it used. `fault` keeps node -1 unless a live
/// subscript or divisor was bad.
std::size_t run_forward(const ForwardCall& call, const ForwardServices& services, PassFault& fault);

}  // namespace tilewright::cpu
