// What backward needs before its first tile, one block a query tile of a head:
//   delta = rowsum(O dO) - dLSE and -lse log2(e) in rows padded to whole tiles, zeros where dQ will
//   be added up and in the turn words, and (if asked) dO copied into a dense tensor of the element
//   type, with zeros in rows without live pairs.
//
// The copy is for what the copy engine cannot read (another dtype, an innermost stride other than
// 1, bases or strides that are not multiples of 16 bytes) and for masks under which a row may see
// nothing: semantics R4 gives such a row no influence whatever its dO holds, but 0 * NaN would.
//
// Threads share a row eight columns each; sums have a fixed order.
#pragma once

#include "attention/float_tensor.cuh"
#include "ptx/lane.cuh"
#include "ptx/numbers.cuh"
#include "ptx/vector_memory.cuh"

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
  float* minus_lse;     ///< [B, Hq, padded Q], times log2(e)
  float* delta;         ///< the same
  void* d_out_copy;     ///< [B, Hq, Q, Ev] dense, element type; null: none is made
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
  /// Nonzero where out, or d_out, has the element type, column stride 1, and bases and other
  /// strides that are multiples of 16 bytes.
  i32 out_in_vectors;
  i32 d_out_in_vectors;
};

/// A variant is a struct with: Element, kValueDim, kQueryTile. The body of a kernel of kThreads
/// threads; grid B * Hq * q_tiles.
template <class Variant>
struct BackwardPrepare {
  using Element = typename Variant::Element;
  static constexpr u32 kThreads = 128;
  static constexpr i32 kPieces = Variant::kValueDim / 8;
  static constexpr u32 kRowThreads = kPieces <= 1    ? 1
                                     : kPieces <= 2  ? 2
                                     : kPieces <= 4  ? 4
                                     : kPieces <= 8  ? 8
                                     : kPieces <= 16 ? 16
                                                     : 32;

  const BackwardPrepareParams& params;
  i32 tile, batch, head;

  __device__ __forceinline__ static BackwardPrepare of_block(const BackwardPrepareParams& params) {
    const i32 block = static_cast<i32>(ptx::block_in_grid());
    const i32 stream = block / params.q_tiles;
    const i32 batch = stream / params.query_heads;
    return {params, block - stream * params.q_tiles, batch, stream - batch * params.query_heads};
  }

  __device__ __forceinline__ void run() const {
    const u32 thread = ptx::thread_in_block();
    for (u32 r = thread / kRowThreads; r < Variant::kQueryTile; r += kThreads / kRowThreads) {
      prepare_row(static_cast<i32>(r), static_cast<i32>(thread % kRowThreads));
    }
    clear_sums(thread);
  }

 private:
  __device__ __forceinline__ i64 stream() const {
    return static_cast<i64>(batch) * params.query_heads + head;
  }

  __device__ __forceinline__ void prepare_row(i32 row_in_tile, i32 piece) const {
    const i32 row = tile * Variant::kQueryTile + row_in_tile;
    const bool inside = row < params.q_rows;
    const float lse = inside ? ptx::load(params.lse + at(params.lse_strides, row)) : 0.0f;
    const bool empty = !inside || lse == ptx::float_of(0xff800000u);
    float sum = 0.0f;
    if (piece < kPieces && inside) sum = prepare_piece(row, piece, empty);
    sum = sum_over_row(sum);
    if (piece != 0) return;
    const float d_lse =
        params.d_lse == nullptr || empty
            ? 0.0f
            : load_float(params.d_lse, params.d_lse_kind, at(params.d_lse_strides, row));
    const i64 to = stream() * params.q_tiles * Variant::kQueryTile + row;
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
    u32 word[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      word[w] = empty ? 0u : ptx::pack(Element{}, d_out[2 * w], d_out[2 * w + 1]);
      d_out[2 * w] = ptx::to_float(Element{}, static_cast<u16>(word[w] & 0xffffu));
      d_out[2 * w + 1] = ptx::to_float(Element{}, static_cast<u16>(word[w] >> 16));
    }
    const i64 to = (stream() * params.q_rows + row) * Variant::kValueDim + piece * 8;
    ptx::store(static_cast<u16*>(params.d_out_copy) + to, {word[0], word[1], word[2], word[3]});
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
      const ptx::Words4 words = ptx::load_words(static_cast<const u16*>(source.base) + from);
      const u32 word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        const u32 half = c % 2 == 0 ? word[c / 2] & 0xffffu : word[c / 2] >> 16;
        to[c] = ptx::to_float(Element{}, static_cast<u16>(half));
      }
    } else {
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        to[c] = load_float(source.base, source.kind, from + c * source.strides.column);
      }
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
