// Products of a warp whose operand A is a tile of S^T or dS^T (keys by queries) in shared memory,
// and how such fragments get there.
#pragma once

#include "ptx/matrix_store.cuh"
#include "ptx/vector_memory.cuh"
#include "tile/warp_products.cuh"

namespace tilewright::cuda {

/// Stores one step (32 bytes of columns) of 16 rows; `rows` is where the first of them begins at
/// the step's first column, words in the order of to_operand_words.
template <class Element, class Tile>
__device__ __forceinline__ void store_operand_step(ptx::SharedAddress rows, u32 lane,
                                                   const u32* word) {
  if constexpr (kIsFloat<Element>) {
    const ptx::SharedAddress at = rows + (lane / 4 * Tile::kRowBytes + lane % 4 * 8);
    ptx::store_shared(at, ptx::Words2{word[0], word[2]});
    ptx::store_shared(at + 8 * Tile::kRowBytes, ptx::Words2{word[1], word[3]});
  } else {
#if __CUDA_ARCH__ >= 900
    ptx::store_matrices(lane_in_16_rows<Tile>(rows, lane), {word[0], word[1], word[2], word[3]});
#else
    const ptx::SharedAddress at = rows + (lane / 4 * Tile::kRowBytes + lane % 4 * 4);
    ptx::store_shared_u32(at, word[0]);
    ptx::store_shared_u32(at + 8 * Tile::kRowBytes, word[1]);
    ptx::store_shared_u32(at + 16, word[2]);
    ptx::store_shared_u32(at + (8 * Tile::kRowBytes + 16), word[3]);
#endif
  }
}

/// The same words back, by whichever warp.
template <class Element, class Tile>
__device__ __forceinline__ void load_operand_step(u32* word, ptx::SharedAddress rows, u32 lane) {
  if constexpr (kIsFloat<Element>) {
    const ptx::SharedAddress at = rows + (lane / 4 * Tile::kRowBytes + lane % 4 * 8);
    const ptx::Words2 upper = ptx::load_shared_words2(at);
    const ptx::Words2 lower = ptx::load_shared_words2(at + 8 * Tile::kRowBytes);
    word[0] = upper.x;
    word[1] = lower.x;
    word[2] = upper.y;
    word[3] = lower.y;
  } else {
    u32 loaded[4];
    ptx::load_matrices(loaded, lane_in_16_rows<Tile>(rows, lane));
#pragma unroll
    for (int w = 0; w < 4; ++w) word[w] = loaded[w];
  }
}

/// Operand A of one step along the rows of a [k, rows of the product] tile: 16 rows of the product.
template <class Element, class Tile>
__device__ __forceinline__ OperandA<Element> load_transposed_operand(ptx::SharedAddress at,
                                                                     u32 lane) {
  u32 word[4];
  if constexpr (kIsFloat<Element>) {
    const ptx::SharedAddress from = lane_in_row_pairs<Tile>(at, lane);
    word[0] = ptx::load_shared_u32(from);
    word[1] = ptx::load_shared_u32(from + 32);
    word[2] = ptx::load_shared_u32(from + Tile::kRowBytes);
    word[3] = ptx::load_shared_u32(from + (Tile::kRowBytes + 32));
  } else {
    ptx::load_matrices_transposed(word, lane_in_two_by_8_rows<Tile>(at, lane));
  }
  return OperandA<Element>::of(word);
}

/// Two neighbouring B fragments (16 columns) of one step along the rows of a [k, columns] tile.
template <class Element, class Tile>
struct RowOperands {
  OperandB<Element> low;
  OperandB<Element> high;

  __device__ __forceinline__ void load(ptx::SharedAddress at, u32 lane) {
    if constexpr (kIsFloat<Element>) {
      const ptx::SharedAddress from = lane_in_row_pairs<Tile>(at, lane);
      const u32 first[2] = {ptx::load_shared_u32(from),
                            ptx::load_shared_u32(from + Tile::kRowBytes)};
      const u32 second[2] = {ptx::load_shared_u32(from + kStepBytes),
                             ptx::load_shared_u32(from + (Tile::kRowBytes + kStepBytes))};
      low = OperandB<Element>::of(first);
      high = OperandB<Element>::of(second);
    } else {
      u32 word[4];
      ptx::load_matrices_transposed(word, lane_in_16_rows<Tile>(at, lane));
      low = OperandB<Element>::of(word);
      high = OperandB<Element>::of(word + 2);
    }
  }
};

/// One chain of out += left^T right: kSteps steps of the tiles' rows from `left_at` and `right_at`
/// on.
template <class Element, class LeftTile, class RightTile, int kSteps, int kColumns, int kStrips>
__device__ __forceinline__ void transposed_chain(Accumulator<kColumns> (&out)[kStrips],
                                                 ptx::SharedAddress left_at,
                                                 ptx::SharedAddress right_at, u32 lane) {
  constexpr int kElement = LeftTile::kElement;
  constexpr int kStepRows = kStepBytes / kElement;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    OperandA<Element> left[kStrips];
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      left[s] = load_transposed_operand<Element, LeftTile>(
          left_at + (step * kStepRows * LeftTile::kRowBytes + s * 16 * kElement), lane);
    }
#pragma unroll
    for (int pair = 0; pair < kColumns / 16; ++pair) {
      RowOperands<Element, RightTile> right;
      right.load(right_at + (step * kStepRows * RightTile::kRowBytes + pair * 16 * kElement), lane);
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
        multiply_add<Element>(out[s].value + 8 * pair, left[s], right.low);
        multiply_add<Element>(out[s].value + 8 * pair + 4, left[s], right.high);
      }
    }
  }
}

/// out = left^T right over all rows of both tiles (the keys): left has 16 kStrips columns from
/// `left_at` on, right kColumns from `right_at` on. fp32 chains are eight steps long.
template <class Element, class LeftTile, class RightTile, int kColumns, int kStrips>
__device__ __forceinline__ void transposed_product(Accumulator<kColumns> (&out)[kStrips],
                                                   ptx::SharedAddress left_at,
                                                   ptx::SharedAddress right_at, u32 lane) {
  constexpr int kStepRows = kStepBytes / LeftTile::kElement;
  constexpr int kSteps = LeftTile::kRows / kStepRows;
  constexpr int kChain = kIsFloat<Element> && kSteps > 8 ? 8 : kSteps;
  static_assert(kSteps % kChain == 0);
#pragma unroll
  for (int s = 0; s < kStrips; ++s) out[s].clear();
  transposed_chain<Element, LeftTile, RightTile, kChain>(out, left_at, right_at, lane);
#pragma unroll 1
  for (int first = kChain; first < kSteps; first += kChain) {
    Accumulator<kColumns> part[kStrips];
#pragma unroll
    for (int s = 0; s < kStrips; ++s) part[s].clear();
    transposed_chain<Element, LeftTile, RightTile, kChain>(
        part, left_at + first * kStepRows * LeftTile::kRowBytes,
        right_at + first * kStepRows * RightTile::kRowBytes, lane);
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int e = 0; e < kColumns / 2; ++e) out[s].value[e] += part[s].value[e];
    }
  }
}

}  // namespace tilewright::cuda
