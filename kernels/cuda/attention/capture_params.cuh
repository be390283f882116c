// The first parameter of the kernel of captured gradients; the host fills it field by field.
//
//   launch   units (schedule.blocks) blocks of CaptureLayout<Variant>::kThreads threads and kBytes
//   of
//            dynamic shared memory, after backward_prepare.cuh, then capture_finish.cuh per capture
//   memory   every target's copies, zeroed by the host
#pragma once

#include "attention/key_lengths.cuh"
#include "attention/portable_params.cuh"
#include "attention/query_cut.cuh"

namespace tilewright::cuda {

inline constexpr int kMaxCaptureTargets = 16;

/// fp32 sums of one captured tensor, elements in row-major order.
struct CaptureTarget {
  float* sums;
  i64 copy_floats;  ///< from one block's copy to the next; 0 where blocks add to different elements
};

/// A unit is a tile of query rows against a chunk of keys, for a range of (batch, head) pairs.
/// Block n takes units n, n + blocks and so on: always the same, in the same order.
struct CaptureSchedule {
  i32 blocks;
  i32 stream_parts;  ///< ranges that the (batch, head) pairs are cut into
  i32 q_tiles;
  i32 chunks;
  i32 chunk_keys;  ///< a multiple of the key tile
  QueryCut cut;    ///< of the query rows into tiles of at most kQueryTile
};

struct CaptureParams {
  const void* query;  ///< [B, Hq, Q, E], element type, like the next three
  const void* key;
  const void* value;
  const void* d_out;
  /// [B, Hq, stream_rows], -lse log2(e); -inf for a row without live pairs. In tiles of the main
  /// kernel, row_pitch apart.
  const float* minus_lse;
  const float* delta;  ///< the same shape
  ErrorRecord* error;
  TensorStrides query_strides;
  TensorStrides key_strides;
  TensorStrides value_strides;
  TensorStrides d_out_strides;
  CaptureTarget target[kMaxCaptureTargets];
  CaptureSchedule schedule;
  Extents extents;
  i32 stream_rows;  ///< of minus_lse and delta, at least Q
  i32 row_pitch;
  QueryCut row_cut;
  float scale;
  float scale_log2;
  SpanLists lists;  ///< of variants with kWalksLists
  KeyLengths lengths;
};

}  // namespace tilewright::cuda
