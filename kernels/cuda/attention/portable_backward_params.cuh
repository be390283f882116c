// The first parameter of the portable backward kernels; the host fills it field by field. Launch,
// on one stream:
//
//   prepare  backward_prepare.cuh
//   main     grid (schedule.items, 1, 1), blocks of 32 * kKeyWarps * kColumnWarps threads,
//            PortableBackwardLayout<Variant>::kBytes of dynamic shared memory
//   finish   portable_gradient_finish.cuh, for dQ always, for dK and dV where they are partial
//
// What the host refuses or routes: positions at or past 2^31 - 2^18. Addresses are 64-bit and
// strides may be anything, zero and negative included (a gradient's rows must not overlap).
#pragma once

#include "attention/backward_item.cuh"
#include "attention/key_lengths.cuh"
#include "attention/portable_params.cuh"
#include "attention/query_cut.cuh"

namespace tilewright::cuda {

/// What belongs to a gradient that the variant does not compute is not read. In the workspace every
/// query tile has room for kQueryTile rows. Order of sums: gradient_cells.cuh.
struct PortableBackwardParams {
  const void* query;       ///< [B, Hq, Q, E]
  const void* key;         ///< [Bkv, Hkv, KV, E]
  const void* value;       ///< [Bkv, Hkv, KV, Ev]
  const void* d_out;       ///< [B, Hq, Q, Ev], element type
  const float* minus_lse;  ///< [B, Hq, q_tiles, kQueryTile], -lse log2(e); -inf: no live pairs
  const float* delta;      ///< the same shape, sum_j p dP - dLSE
  float* d_query_sums;     ///< [B, Hq, q_tiles, cells], zeros
  u32* turns;              ///< [B, Hq, q_tiles, 2], zeros; deterministic variants only, first word
  float* d_key_sums;       ///< [part, Bkv, Hkv, kv_tiles, cells]: written instead of d_key; or null
  float* d_value_sums;     ///< the same for d_value
  void* d_key;             ///< [Bkv, Hkv, KV, E] in the element type, or null
  void* d_value;           ///< [Bkv, Hkv, KV, Ev], or null
  ErrorRecord* error;
  TensorStrides query_strides;
  TensorStrides key_strides;
  TensorStrides value_strides;
  TensorStrides d_out_strides;
  TensorStrides d_key_strides;
  TensorStrides d_value_strides;
  SpanLists lists;
  KeyLengths lengths;
  BackwardSchedule schedule;
  Extents extents;
  i32 q_tiles;
  QueryCut cut;   ///< of the rows into tiles of at most kQueryTile
  i32 head_dim;   ///< E, at most kHeadTile
  i32 value_dim;  ///< Ev, at most kValueTile
  /// Nonzero where the gradient has column stride 1, its base is a multiple of 16 bytes, every
  /// other stride a multiple of 8 elements, and the dim a multiple of 8.
  i32 d_key_in_vectors;
  i32 d_value_in_vectors;
  i32 lse_has_gradient;  ///< delta holds dLSE too
  float scale;           ///< times the product of query and key
  float scale_log2;      ///< scale * log2(e)
};

static_assert(sizeof(PortableBackwardParams) == 448);

}  // namespace tilewright::cuda
