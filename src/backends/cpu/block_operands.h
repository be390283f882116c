#pragma once

#include "backends/cpu/backward_call.h"

namespace tilewright::cpu {

/// The memory of one row block: operands packed once for all keys, row statistics, and the sum of
/// dQ. Absent parts are null.
struct BlockMemory {
  BlockMemory(const BackwardLayout& layout, char* memory);

  char* query_a;  ///< query, row-major
  char* query_b;  ///< query as panels [rows][E]
  char* d_out_a;  ///< d_out, row-major
  char* d_out_b;  ///< d_out as panels [rows][Ev]
  char* lse;      ///< Real [rows]; +inf for a row without a live pair
  char* delta;    ///< Real [rows]: <d_out, out> less d_lse
  char* d_query;  ///< Real [rows][head_cols], unscaled
};

/// Where a row block lies in the tensors.
struct BlockPlace {
  std::int64_t b = 0;
  std::int64_t h = 0;
  TokenRange rows;
};

/// Packs the block's operands, finds its statistics and clears its dQ. Rows without a live pair
/// are packed as zeros, whatever the tensors hold there (R4). `staging` holds two tiles of rows
/// (BackwardLayout::staging each), then diagonal_key and diagonal_score.
void prepare_block(const BackwardCall& call, const BackwardLayout& layout, const BlockPlace& place,
                   const BlockMemory& memory, char* staging);

/// Writes the block's rows of d_query; zeros where dS is 0 by structure.
void store_d_query(const BackwardCall& call, const BackwardLayout& layout, const BlockPlace& place,
                   const BlockMemory& memory);

}  // namespace tilewright::cpu
