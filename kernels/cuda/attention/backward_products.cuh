// The five products of a backward step, issued here and waited for by the caller, with the
// accumulators and operand words of one consumer warpgroup.
#pragma once

#include "attention/backward_layout.cuh"
#include "tile/gradient_gemms.cuh"
#include "tile/store_fragment.cuh"

namespace tilewright::cuda {

template <class Variant>
struct BackwardProducts {
  using Layout = BackwardLayout<Variant>;
  using Element = typename Variant::Element;
  using QueryTile = typename Layout::QueryTile;
  using GradTile = typename Layout::GradTile;
  using KeyTile = typename Layout::KeyTile;
  using ValueTile = typename Layout::ValueTile;
  using ScoreTile = typename Layout::ScoreTile;
  static constexpr bool kSplitsKeys = Layout::kSplitsKeys;
  static constexpr int kScoreColumns = Layout::kScoreColumns;
  static constexpr int kKeyTile = Layout::kKeyTile;
  static constexpr int kQueryTile = Layout::kQueryTile;
  using Words = u32[kScoreColumns / 4];

  Layout layout;
  u32 warpgroup;
  FragmentPlace<ScoreTile, kScoreColumns> place;  ///< of P and dS in shared memory

  Accumulator<kScoreColumns> score, d_probability;
  Accumulator<Layout::kKeyColumns> d_key;
  Accumulator<Layout::kValueColumns> d_value;
  Accumulator<Layout::kSumColumns> d_query;
  Words probability, d_score;

  /// S^T = K Q^T of a step.
  __device__ __forceinline__ void issue_scores(u32 step) {
    score.forget();
    ptx::matrix_fence();
    issue_by_columns<Element, KeyTile, QueryTile, Variant::kHeadDim>(
        score, KeyTile::k_along_columns(layout.key() + key_rows()),
        QueryTile::k_along_columns(layout.query(step % Layout::kQueryStages) + query_rows()));
    ptx::matrix_commit();
  }

  /// dP^T = V dO^T.
  __device__ __forceinline__ void issue_d_probability(u32 step) {
    d_probability.forget();
    ptx::matrix_fence();
    issue_by_columns<Element, ValueTile, GradTile, Variant::kValueDim>(
        d_probability, ValueTile::k_along_columns(layout.value() + key_rows()),
        GradTile::k_along_columns(layout.d_out(step % Layout::kGradStages) + query_rows()));
    ptx::matrix_commit();
  }

  /// dV += P^T dO.
  __device__ __forceinline__ void issue_value_product(u32 step) {
    d_value.pin();
    pin(probability);
    ptx::matrix_fence();
    const ptx::SharedAddress d_out = layout.d_out(step % Layout::kGradStages);
    if constexpr (kSplitsKeys) {
      issue_registers_by_rows<Element, GradTile, kQueryTile>(d_value, probability,
                                                             GradTile::k_along_rows(d_out));
    } else {
      const u32 half = warpgroup * Layout::ValueHalves::kOwnChunks * GradTile::kChunkBytes;
      issue_by_rows<Element, ScoreTile, GradTile, kQueryTile, false, true>(
          d_value, ScoreTile::k_along_columns(layout.probability(step % Layout::kSides)),
          GradTile::k_along_rows(d_out + half));
    }
    ptx::matrix_commit();
  }

  /// dK += dS^T Q.
  __device__ __forceinline__ void issue_key_product(u32 step) {
    d_key.pin();
    if constexpr (kSplitsKeys) pin(d_score);
    ptx::matrix_fence();
    const ptx::SharedAddress query = layout.query(step % Layout::kQueryStages);
    if constexpr (kSplitsKeys) {
      issue_registers_by_rows<Element, QueryTile, kQueryTile>(d_key, d_score,
                                                              QueryTile::k_along_rows(query));
    } else {
      const u32 half = warpgroup * Layout::KeyHalves::kOwnChunks * QueryTile::kChunkBytes;
      issue_by_rows<Element, ScoreTile, QueryTile, kQueryTile, false, true>(
          d_key, ScoreTile::k_along_columns(layout.d_score(step % Layout::kSides)),
          QueryTile::k_along_rows(query + half));
    }
    ptx::matrix_commit();
  }

  /// dQ = dS K, the warpgroup's rows or columns of it.
  __device__ __forceinline__ void issue_query_product(u32 step) {
    d_query.forget();
    ptx::matrix_fence();
    const u32 row_chunk = Layout::kSumsByRows ? warpgroup * ScoreTile::kChunkBytes : 0;
    const u32 half =
        Layout::kSumsByRows ? 0 : warpgroup * Layout::KeyHalves::kOwnChunks * KeyTile::kChunkBytes;
    issue_by_rows<Element, ScoreTile, KeyTile, kKeyTile, true, false>(
        d_query, ScoreTile::k_along_rows(layout.d_score(step % Layout::kSides) + row_chunk),
        KeyTile::k_along_rows(layout.key() + half));
    ptx::matrix_commit();
  }

  /// P and dS as operand words.
  __device__ __forceinline__ void pack_scores() {
    pack(score, probability);
    pack(d_probability, d_score);
  }

  /// dS (and P where the warpgroups share it) into shared memory; visible to the matrix
  /// instructions of whoever meets this thread afterwards.
  __device__ __forceinline__ void store_scores(u32 step) const {
    place.store(d_score, layout.d_score(step % Layout::kSides));
    if constexpr (!kSplitsKeys) {
      place.store(probability, layout.probability(step % Layout::kSides));
    }
    ptx::fence_async_shared();
  }

  static __device__ __forceinline__ void pin(Words& words) {
#pragma unroll
    for (int w = 0; w < kScoreColumns / 4; ++w) ptx::pin(words[w]);
  }

 private:
  /// Byte offsets of this warpgroup's rows in a chunk of keys, of queries.
  __device__ __forceinline__ u32 key_rows() const {
    return static_cast<u32>(Layout::first_key_row(warpgroup)) * kChunkRowBytes;
  }
  __device__ __forceinline__ u32 query_rows() const {
    return static_cast<u32>(Layout::first_query(warpgroup)) * kChunkRowBytes;
  }

  static __device__ __forceinline__ void pack(const Accumulator<kScoreColumns>& from,
                                              Words& words) {
#pragma unroll
    for (int w = 0; w < kScoreColumns / 4; ++w) {
      words[w] = ptx::pack(Element{}, from.value[2 * w], from.value[2 * w + 1]);
    }
  }
};

}  // namespace tilewright::cuda
