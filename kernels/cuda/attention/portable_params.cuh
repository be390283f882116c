// The first parameter of the portable forward kernels; the host fills it field by field. Launch:
//
//   grid     (schedule.items, ceil(value_dim / kValueTile), 1) blocks of 32 * kWarps threads
//   shared   PortableLayout<Variant>::kBytes of dynamic shared memory (portable_layout.cuh)
//   params   const __grid_constant__ PortableParams, const __grid_constant__ Bindings
//   memory   no workspace, no counters; with schedule.splits > 1 the outputs are fp32 partials that
//            portable_merge.cuh joins
//
// What the host refuses or routes: positions at or past 2^31 - 2^18 (rows, keys, and rows times
// group_heads where a group is packed); a scale below zero without kScalesFirst; max_scores without
// kTracksMaximum. Addresses are 64-bit and strides may be anything, zero and negative included.
#pragma once

#include "attention/key_lengths.cuh"
#include "attention/span_lists.cuh"
#include "attention/work_item.cuh"

namespace tilewright::cuda {

struct ErrorRecord;

/// Of a [B, H, rows, columns] tensor, in elements.
struct TensorStrides {
  i64 batch;
  i64 head;
  i64 row;
  i64 column;
};

/// Of a [slot, B, Hq, Q] or [slot, B, Hq, Q, Ev] tensor, in elements.
struct SlotStrides {
  i64 slot;
  i64 batch;
  i64 head;
  i64 row;
  i64 column;  ///< unused where there are no columns
};

/// How a block index becomes a WorkItem. Heads come in sections whose keys and values fit the L2
/// cache; inside a section the query tile is the outer index.
struct PortableSchedule {
  const WorkItem* list;  ///< explicit items, at most item_rows rows each; or null
  i32 items;             ///< batches * heads * splits * q_tiles, or the length of `list`
  i32 q_tiles;           ///< ceil(rows / item_rows); with lists, those of each of their blocks
  i32 item_rows;         ///< query rows of an item, at most 16 * kStrips * kWarps
  i32 section_heads;     ///< heads of all batches and splits in a section, at least 1
  i32 last_tile_first;   ///< nonzero: query tiles descend, which is longest first for a causal mask
  i32 splits;            ///< parts of the keys; part s goes to output slot s
  i32 split_keys;        ///< keys of a part: ceil(KV / splits), or more; fixed in tokens
  i32 block_tiles;       ///< with lists: ceil(q_block_rows / item_rows), an item lies in one block
};

/// Where a variant packs groups (kPacksGroup), "head" of items and schedule means a key head, and
/// row r of its Q * group_heads rows is query row r / group_heads of query head
/// head * group_heads + r % group_heads. WorkItems of `list` count the same rows.
struct PortableParams {
  const void* query;  ///< [B, Hq, Q, E]
  const void* key;    ///< [Bkv, Hkv, KV, E]
  const void* value;  ///< [Bkv, Hkv, KV, Ev]
  void* out;          ///< [slot, B, Hq, Q, Ev]: the element type, or fp32 with kPartialOut
  float* lse;         ///< [slot, B, Hq, Q], natural logarithm; may be null
  float* max_scores;  ///< like lse; read only by variants that track the maximum, may be null
  ErrorRecord* error;
  TensorStrides query_strides;
  TensorStrides key_strides;
  TensorStrides value_strides;
  SlotStrides out_strides;
  SlotStrides lse_strides;  ///< also of max_scores
  SpanLists lists;
  PortableSchedule schedule;
  Extents extents;
  i32 head_dim;   ///< E, at most kHeadTile; the tile is filled up with zeros
  i32 value_dim;  ///< Ev, any; a block computes kValueTile columns of it
  /// Nonzero where `out` has column stride 1, its base is a multiple of 16 bytes, every other
  /// stride a multiple of 8 elements, and value_dim a multiple of 8.
  i32 out_in_vectors;
  float scale;       ///< times the product of query and key
  float scale_log2;  ///< scale * log2(e)
  KeyLengths lengths;
};

static_assert(sizeof(PortableParams) <= 700);

}  // namespace tilewright::cuda
