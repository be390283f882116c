// The first parameter of every backward kernel; the host fills it field by field.
#pragma once

#include "attention/backward_item.cuh"
#include "attention/error_record.cuh"
#include "ptx/tensor_copy.cuh"

namespace tilewright::cuda {

/// Strides of a gradient in elements; the innermost stride is 1, rows begin at multiples of 16
/// bytes.
struct GradientStrides {
  i64 batch;
  i64 head;
  i64 row;
};

/// Rows of the workspace are padded to whole query tiles: "padded Q" is q_tiles * query tile.
struct BackwardParams {
  ptx::TensorMap query;    ///< [E, Q, Hq, B], box 64 x query tile
  ptx::TensorMap key;      ///< [E, KV, Hkv, Bkv], box 64 x key tile
  ptx::TensorMap value;    ///< [Ev, KV, Hkv, Bkv], box 64 x key tile
  ptx::TensorMap d_out;    ///< [Ev, Q, Hq, B], box 64 x query tile
  const float* minus_lse;  ///< [B, Hq, padded Q], -lse log2(e); -inf for a row without live pairs
  const float* delta;      ///< [B, Hq, padded Q], sum_j p dP - dLSE
  float* d_query_sums;     ///< [B, Hq, q_tiles, tile], zeros; in the order of fragments
  u32* turns;              ///< [B, Hq, q_tiles, 2], zeros; deterministic variants only
  float*
      d_key_sums;  ///< [part, Bkv, Hkv, kv_tiles, tile], which is written instead of d_key; or null
  float* d_value_sums;  ///< the same for d_value
  void* d_key;          ///< [Bkv, Hkv, KV, E] in the element type, or null
  void* d_value;        ///< [Bkv, Hkv, KV, Ev], or null
  ErrorRecord* error;
  GradientStrides d_key_strides;
  GradientStrides d_value_strides;
  BackwardSchedule schedule;
  Extents extents;
  i32 q_tiles;
  float scale;       ///< times the product of query and key
  float scale_log2;  ///< scale * log2(e)
};

}  // namespace tilewright::cuda
