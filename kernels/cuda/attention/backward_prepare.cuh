// What backward needs before its first tile, one block a query tile of a head:
//   delta = rowsum(O dO) - dLSE and -lse log2(e) in rows padded to whole tiles, zeros where dQ will
//   be added up and in the turn words, and (if asked) dO copied into a dense tensor of the element
//   type, with zeros in rows without live pairs.
//
// Both backward families use it. The copy is for what the main kernel cannot read (another dtype;
// for the copy engine an innermost stride other than 1, bases or strides that are not multiples of
// 16 bytes) and for masks under which a row may see
// nothing: semantics R4 gives such a row no influence whatever its dO holds, but 0 * NaN would.
//
// Threads share a row eight columns each; sums have a fixed order.
#pragma once

#include "attention/float_tensor.cuh"
#include "attention/query_cut.cuh"
#include "ptx/lane.cuh"
#include "ptx/numbers.cuh"
#include "ptx/vector_memory.cuh"
#include "tile/copy_rows.cuh"

namespace tilewright::cuda {

/// In elements.
struct OperandStrides {
  i64 batch;
  i64 head;
  i64 row;
  i64 column;
};

struct BackwardPrepareParams {
  const void* out;      ///< [B, Hq, Q, Ev]
  const void* d_out;    ///< the same shape
  const float* lse;     ///< [B, Hq, Q]
  const void* d_lse;    ///< the same shape, or null
  float* minus_lse;     ///< [B, Hq, q_tiles, kQueryTile], times log2(e)
  float* delta;         ///< the same
  void* d_out_copy;     ///< [B, Hq, Q, Ev up to 8], dense, element type; null: none is made
  float* d_query_sums;  ///< [B, Hq, q_tiles, sum_floats]
  u32* turns;           ///< [B, Hq, q_tiles, 2], or null
  OperandStrides out_strides;
  OperandStrides d_out_strides;
  OperandStrides lse_strides;  ///< column unused
  OperandStrides d_lse_strides;
  i32 query_heads;
  i32 q_rows;
  i32 q_tiles;
  i32 sum_floats;  ///< of a tile of dQ
  FloatKind out_kind;
  FloatKind d_out_kind;
  FloatKind d_lse_kind;
  /// Nonzero where out, or d_out, has the element type, column stride 1, bases and other strides
  /// that are multiples of 16 bytes, and a multiple of 8 columns.
  i32 out_in_vectors;
  i32 d_out_in_vectors;
  i32 value_dim;  ///< Ev
  QueryCut cut;   ///< of the rows into tiles of at most kQueryTile
};

/// kValueColumns: Ev, or more. The body of a kernel of kThreads threads; grid B * Hq * q_tiles.
template <class Element, int kValueColumns, int kQueryTile>
struct BackwardPrepare {
  static constexpr bool kIsFp32 = kElementBytes<Element> == 4;
  static constexpr u32 kThreads = 128;
  static constexpr i32 kPieces = (kValueColumns + 7) / 8;
  static constexpr u32 kRowThreads = kPieces < 32 ? power_of_two_from(kPieces) : 32;

  const BackwardPrepareParams& params;
  i32 tile, batch, head;
  i32 first_row, end_row;  ///< of the tile

  __device__ __forceinline__ static BackwardPrepare of_block(const BackwardPrepareParams& params) {
    const i32 block = static_cast<i32>(ptx::block_in_grid());
    const i32 stream = block / params.q_tiles;
    const i32 batch = stream / params.query_heads;
    const i32 tile = block - stream * params.q_tiles;
    return {params,
            tile,
            batch,
            stream - batch * params.query_heads,
            params.cut.begin(tile),
            params.cut.end(tile, params.q_rows)};
  }

  __device__ __forceinline__ void run() const {
    const u32 thread = ptx::thread_in_block();
    for (u32 r = thread / kRowThreads; r < kQueryTile; r += kThreads / kRowThreads) {
      prepare_row(static_cast<i32>(r), static_cast<i32>(thread % kRowThreads));
    }
    clear_sums(thread);
  }

 private:
  __device__ __forceinline__ i64 stream() const {
    return static_cast<i64>(batch) * params.query_heads + head;
  }

  __device__ __forceinline__ void prepare_row(i32 row_in_tile, i32 lane) const {
    const i32 row = first_row + row_in_tile;
    const bool inside = row < end_row;
    const float lse = inside ? ptx::load(params.lse + at(params.lse_strides, row)) : 0.0f;
    const bool empty = !inside || lse == ptx::float_of(0xff800000u);
    float sum = 0.0f;
    for (i32 piece = lane; inside && piece * 8 < params.value_dim; piece += kRowThreads) {
      sum += prepare_piece(row, piece, empty);
    }
    sum = sum_over_row(sum);
    if (lane != 0) return;
    const float d_lse =
        params.d_lse == nullptr || empty
            ? 0.0f
            : load_float(params.d_lse, params.d_lse_kind, at(params.d_lse_strides, row));
    const i64 to = (stream() * params.q_tiles + tile) * kQueryTile + row_in_tile;
    // -inf, not +inf: behind it no exponent is anything but -inf, and P is 0.
    const float minus_lse = empty ? ptx::float_of(0xff800000u) : lse * -1.44269504f;
    ptx::store(params.minus_lse + to, minus_lse);
    ptx::store(params.delta + to, empty ? 0.0f : sum - d_lse);
  }

  /// Eight columns of a row: their share of O dO, and their copy.
  __device__ __forceinline__ float prepare_piece(i32 row, i32 piece, bool empty) const {
    float out[8], d_out[8];
    load_piece({params.out, params.out_strides, params.out_kind, params.out_in_vectors}, row, piece,
               out);
    load_piece({params.d_out, params.d_out_strides, params.d_out_kind, params.d_out_in_vectors},
               row, piece, d_out);
    if (params.d_out_copy != nullptr) store_copy(row, piece, empty, d_out);
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < 8; ++c) sum = ptx::fused(out[c], d_out[c], sum);
    return sum;
  }

  /// Leaves in d_out what the copy holds: delta and dP see the same rounded numbers.
  __device__ __forceinline__ void store_copy(i32 row, i32 piece, bool empty,
                                             float (&d_out)[8]) const {
    const i64 columns = (params.value_dim + 7) / 8 * 8;
    const i64 to = (stream() * params.q_rows + row) * columns + piece * 8;
#pragma unroll
    for (int c = 0; c < 8; ++c) d_out[c] = empty ? 0.0f : d_out[c];
    if constexpr (kIsFp32) {
      float* const copy = static_cast<float*>(params.d_out_copy) + to;
      ptx::store(copy, ptx::Floats4{d_out[0], d_out[1], d_out[2], d_out[3]});
      ptx::store(copy + 4, ptx::Floats4{d_out[4], d_out[5], d_out[6], d_out[7]});
    } else {
      u32 word[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) word[w] = ptx::pack(Element{}, d_out[2 * w], d_out[2 * w + 1]);
      unpack(word, d_out);
      ptx::store(static_cast<u16*>(params.d_out_copy) + to,
                 ptx::Words4{word[0], word[1], word[2], word[3]});
    }
  }

  static __device__ __forceinline__ void unpack(const u32 (&word)[4], float (&to)[8]) {
#pragma unroll
    for (int c = 0; c < 8; ++c) {
      const u32 half = c % 2 == 0 ? word[c / 2] & 0xffffu : word[c / 2] >> 16;
      to[c] = ptx::to_float(Element{}, static_cast<u16>(half));
    }
  }

  struct Source {
    const void* base;
    const OperandStrides& strides;
    FloatKind kind;
    i32 in_vectors;
  };

  __device__ __forceinline__ void load_piece(const Source& source, i32 row, i32 piece,
                                             float (&to)[8]) const {
    const i64 from = at(source.strides, row) + piece * 8 * source.strides.column;
    if (source.in_vectors != 0) {
      load_vectors(source.base, from, to);
      return;
    }
#pragma unroll
    for (int c = 0; c < 8; ++c) {
      to[c] = piece * 8 + c < params.value_dim
                  ? load_float(source.base, source.kind, from + c * source.strides.column)
                  : 0.0f;
    }
  }

  static __device__ __forceinline__ void load_vectors(const void* base, i64 from, float (&to)[8]) {
    if constexpr (kIsFp32) {
      const float* const first = static_cast<const float*>(base) + from;
      const ptx::Floats4 low = ptx::load_floats(first), high = ptx::load_floats(first + 4);
      const float value[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int c = 0; c < 8; ++c) to[c] = value[c];
    } else {
      const ptx::Words4 words = ptx::load_words(static_cast<const u16*>(base) + from);
      unpack({words.x, words.y, words.z, words.w}, to);
    }
  }

  __device__ __forceinline__ i64 at(const OperandStrides& strides, i32 row) const {
    return batch * strides.batch + head * strides.head + row * strides.row;
  }

  static __device__ __forceinline__ float sum_over_row(float sum) {
    if constexpr (kRowThreads > 1) sum += ptx::shuffle_xor<1>(sum);
    if constexpr (kRowThreads > 2) sum += ptx::shuffle_xor<2>(sum);
    if constexpr (kRowThreads > 4) sum += ptx::shuffle_xor<4>(sum);
    if constexpr (kRowThreads > 8) sum += ptx::shuffle_xor<8>(sum);
    if constexpr (kRowThreads > 16) sum += ptx::shuffle_xor<16>(sum);
    return sum;
  }

  __device__ __forceinline__ void clear_sums(u32 thread) const {
    const i64 block = stream() * params.q_tiles + tile;
    float* const sums = params.d_query_sums + block * params.sum_floats;
    for (i32 at = static_cast<i32>(thread) * 4; at < params.sum_floats; at += kThreads * 4) {
      ptx::store(sums + at, ptx::Floats4{});
    }
    if (params.turns != nullptr && thread < 2) ptx::store(params.turns + block * 2 + thread, 0u);
  }
};

}  // namespace tilewright::cuda
