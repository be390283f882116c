// The first parameter of every forward kernel; the host fills it, src/backends/cuda mirrors it
// field by field.
#pragma once

#include "attention/error_record.cuh"
#include "attention/key_lengths.cuh"
#include "attention/span_lists.cuh"
#include "attention/work_item.cuh"
#include "ptx/tensor_copy.cuh"

namespace tilewright::cuda {

/// Strides in elements; the innermost stride is 1.
struct OutputStrides {
  i64 slot;
  i64 batch;
  i64 head;
  i64 row;
};

struct ForwardParams {
  ptx::TensorMap query;  ///< [E, Q, Hq, B], box 64 x 64
  ptx::TensorMap key;    ///< [E, KV, Hkv, Bkv], box 64 x key tile
  ptx::TensorMap value;  ///< [Ev, KV, Hkv, Bkv], box 64 x key tile
  void* out;             ///< [slot, B, Hq, Q, Ev] in the element type
  float* lse;            ///< [slot, B, Hq, Q], natural logarithm; may be null
  float* max_scores;     ///< like lse; read only by variants that track the maximum
  ErrorRecord* error;
  OutputStrides out_strides;
  OutputStrides lse_strides;  ///< also of max_scores
  Schedule schedule;
  Extents extents;
  float scale;       ///< times the product of query and key
  float scale_log2;  ///< scale * log2(e)
};

/// Where key tiles come from span lists: schedule.q_tiles counts the tiles of each block of query
/// rows, block_tiles of item_rows rows.
struct ItemLists {
  SpanLists spans;
  i32 query_rows;
  i32 item_rows;    ///< at most the rows of a query tile
  i32 block_tiles;  ///< ceil(q_block_rows / item_rows)
};

/// What variants need that walk lists or read lengths on the device.
struct ForwardExtension {
  ItemLists lists;                   ///< of variants that walk them
  KeyLengths lengths;                ///< of variants that read them, with
  const ptx::TensorMap* value_maps;  ///< one a batch, which ends where its keys do
};

/// The first parameter of such variants.
struct ExtendedForwardParams {
  ForwardParams forward;
  ForwardExtension extension;
};

}  // namespace tilewright::cuda
