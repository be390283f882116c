// The two products of a key tile by one warp's matrix instructions. A warp owns kStrips strips of
// 16 query rows and reads every key and value fragment once for all of them. Operands lie in
// shared memory as RowTiles; addresses are the lane's own (row_tile.cuh).
//
// fp32 products run in short chains that start from zero and are then added by fp32 additions: the
// matrix units truncate where an addition rounds, and a long chain would drift.
#pragma once

#include "tile/accumulator.cuh"
#include "tile/matrix_operand.cuh"
#include "tile/row_tile.cuh"

namespace tilewright::cuda {

template <class Element>
inline constexpr bool kIsFloat = kElementBytes<Element> == 4;

/// The query operand of one step of 32 bytes along E, for all strips of a warp.
template <class Element, class QueryTile, int kStrips>
struct QueryFragments {
  OperandA<Element> strip[kStrips];

  __device__ __forceinline__ void load(ptx::SharedAddress query, int step) {
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      u32 word[4];
      ptx::load_matrices(word, query + (s * 16 * QueryTile::kRowBytes + step * kStepBytes));
      strip[s] = OperandA<Element>::of(word);
    }
  }
};

/// score += query key^T over one step along E; `low` as in multiply_add.
template <class Element, class KeyTile, int kStrips, class Query>
__device__ __forceinline__ void score_step(Accumulator<KeyTile::kRows> (&score)[kStrips],
                                           Accumulator<KeyTile::kRows> (&low_part)[kStrips],
                                           const Query& query, ptx::SharedAddress key) {
#pragma unroll
  for (int pair = 0; pair < KeyTile::kRows / 16; ++pair) {
    u32 word[4];
    ptx::load_matrices(word, key + pair * 16 * KeyTile::kRowBytes);
    const auto low = OperandB<Element>::of(word);
    const auto high = OperandB<Element>::of(word + 2);
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      float* const d = score[s].value + 8 * pair;
      float* const l = low_part[s].value + 8 * pair;
      multiply_add<Element>(d, l, query.strip[s], low);
      multiply_add<Element>(d + 4, l + 4, query.strip[s], high);
    }
  }
}

/// Steps along E after which an fp32 chain ends.
inline constexpr int kChainSteps = 4;

/// One chain: part = query key^T from step `first` on.
template <class Element, class KeyTile, bool kApart, int kStrips, class QueryOf>
__device__ __forceinline__ void score_chain(Accumulator<KeyTile::kRows> (&part)[kStrips],
                                            const QueryOf& query_of, ptx::SharedAddress key,
                                            int first) {
  Accumulator<KeyTile::kRows> low[kStrips];
#pragma unroll
  for (int s = 0; s < kStrips; ++s) {
    part[s].clear();
    if constexpr (kApart) low[s].clear();
  }
#pragma unroll
  for (int step = 0; step < kChainSteps; ++step) {
    if (first + step >= KeyTile::kSteps) continue;
    score_step<Element, KeyTile>(part, kApart ? low : part, query_of(first + step),
                                 key + (first + step) * kStepBytes);
  }
  if constexpr (kApart) {
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int e = 0; e < KeyTile::kRows / 2; ++e) part[s].value[e] += low[s].value[e];
    }
  }
}

/// score = query key^T. `query_of(step)` gives the QueryFragments of a step. kApart: the low parts
/// of fp32 products are added up by themselves, so that a third as many additions to large sums are
/// truncated; for sums that will cancel.
template <class Element, class KeyTile, bool kApart = false, int kStrips, class QueryOf>
__device__ __forceinline__ void score_product(Accumulator<KeyTile::kRows> (&score)[kStrips],
                                              const QueryOf& query_of, ptx::SharedAddress key) {
#pragma unroll
  for (int s = 0; s < kStrips; ++s) score[s].clear();
  if constexpr (!kIsFloat<Element>) {
#pragma unroll
    for (int step = 0; step < KeyTile::kSteps; ++step) {
      score_step<Element, KeyTile>(score, score, query_of(step), key + step * kStepBytes);
    }
  } else {
#pragma unroll 1
    for (int first = 0; first < KeyTile::kSteps; first += kChainSteps) {
      Accumulator<KeyTile::kRows> part[kStrips];
      score_chain<Element, KeyTile, kApart>(part, query_of, key, first);
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
#pragma unroll
        for (int e = 0; e < KeyTile::kRows / 2; ++e) score[s].value[e] += part[s].value[e];
      }
    }
  }
}

/// out += probability value for 16-bit elements: probability as A fragments, four words a step of
/// 16 keys.
template <class Element, class ValueTile, int kStrips>
__device__ __forceinline__ void value_product(
    Accumulator<ValueTile::kColumns> (&out)[kStrips],
    const u32 (&probability)[kStrips][ValueTile::kRows / 4], ptx::SharedAddress value) {
#pragma unroll
  for (int step = 0; step < ValueTile::kRows / 16; ++step) {
#pragma unroll
    for (int pair = 0; pair < ValueTile::kColumns / 16; ++pair) {
      u32 word[4];
      ptx::load_matrices_transposed(word,
                                    value + (step * 16 * ValueTile::kRowBytes + pair * kStepBytes));
      const auto low = OperandB<Element>::of(word);
      const auto high = OperandB<Element>::of(word + 2);
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
        const auto a = OperandA<Element>::of(&probability[s][4 * step]);
        multiply_add<Element>(out[s].value + 8 * pair, a, low);
        multiply_add<Element>(out[s].value + 8 * pair + 4, a, high);
      }
    }
  }
}

/// Groups of 8 value columns whose chains run side by side.
inline constexpr int kGroupsAtOnce = 4;

/// The words of an accumulator as A fragments of the product that follows it, four a step. fp32
/// steps of 8 columns take them in the order in which a thread holds them: 0, 2, 4, 6, 1, 3, 5, 7.
template <class Element, int kColumns>
__device__ __forceinline__ void to_operand_words(
    const Accumulator<kColumns>& from, u32 (&word)[kColumns * kElementBytes<Element> / 8]) {
  if constexpr (kIsFloat<Element>) {
#pragma unroll
    for (int step = 0; step < kColumns / 8; ++step) {
      const float* p = from.value + 4 * step;
      word[4 * step] = ptx::bits_of(p[0]);
      word[4 * step + 1] = ptx::bits_of(p[2]);
      word[4 * step + 2] = ptx::bits_of(p[1]);
      word[4 * step + 3] = ptx::bits_of(p[3]);
    }
  } else {
#pragma unroll
    for (int w = 0; w < kColumns / 4; ++w) {
      word[w] = ptx::pack(Element{}, from.value[2 * w], from.value[2 * w + 1]);
    }
  }
}

/// out += probability value for fp32 elements: A fragments in the order of to_operand_words.
template <class Element, class ValueTile, int kStrips>
__device__ __forceinline__ void value_product(
    Accumulator<ValueTile::kColumns> (&out)[kStrips],
    const u32 (&probability)[kStrips][ValueTile::kRows / 2], ptx::SharedAddress value) {
  constexpr int kKeySteps = ValueTile::kRows / 8;
  constexpr int kGroups = ValueTile::kColumns / 8;
  OperandA<Element> a[kStrips][kKeySteps];
#pragma unroll
  for (int s = 0; s < kStrips; ++s) {
#pragma unroll
    for (int step = 0; step < kKeySteps; ++step) {
      a[s][step] = OperandA<Element>::of(&probability[s][4 * step]);
    }
  }
#pragma unroll
  for (int first = 0; first < kGroups; first += kGroupsAtOnce) {
    float part[kStrips][4 * kGroupsAtOnce] = {};
#pragma unroll
    for (int step = 0; step < kKeySteps; ++step) {
#pragma unroll
      for (int g = 0; g < kGroupsAtOnce && first + g < kGroups; ++g) {
        const ptx::SharedAddress at =
            value + (step * 8 * ValueTile::kRowBytes + (first + g) * kStepBytes);
        const u32 word[2] = {ptx::load_shared_u32(at),
                             ptx::load_shared_u32(at + ValueTile::kRowBytes)};
        const auto b = OperandB<Element>::of(word);
#pragma unroll
        for (int s = 0; s < kStrips; ++s) multiply_add<Element>(part[s] + 4 * g, a[s][step], b);
      }
    }
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int e = 0; e < 4 * kGroupsAtOnce && 4 * first + e < 4 * kGroups; ++e) {
        out[s].value[4 * first + e] += part[s][e];
      }
    }
  }
}

/// out += probability value for fp32 elements.
template <class Element, class ValueTile, int kStrips>
__device__ __forceinline__ void value_product(
    Accumulator<ValueTile::kColumns> (&out)[kStrips],
    const Accumulator<ValueTile::kRows> (&probability)[kStrips], ptx::SharedAddress value) {
  u32 word[kStrips][ValueTile::kRows / 2];
#pragma unroll
  for (int s = 0; s < kStrips; ++s) to_operand_words<Element>(probability[s], word[s]);
  value_product<Element, ValueTile>(out, word, value);
}

}  // namespace tilewright::cuda
