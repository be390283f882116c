// dK and dV of one warp of the portable backward family: its columns of its keys, from its own
// queries' P and dS in registers and from those that other warps hand over in shared memory.
#pragma once

#include "attention/backward_warp.cuh"
#include "attention/portable_gradient_store.cuh"
#include "tile/transposed_products.cuh"

namespace tilewright::cuda {

template <class Variant>
struct PortableKeyProducts {
  using Layout = PortableBackwardLayout<Variant>;
  using Element = typename Variant::Element;
  using QueryTile = typename Layout::QueryTile;
  using GradTile = typename Layout::GradTile;
  using ScoreTile = typename Layout::ScoreTile;
  static constexpr int kStrips = Variant::kStrips;
  static constexpr int kChunk = Layout::kChunk;
  static constexpr int kElement = ScoreTile::kElement;
  static constexpr bool kWantsKey = Variant::kWantsKey;
  static constexpr bool kWantsValue = Variant::kWantsValue;
  using QueryChunk = RowTilePart<QueryTile, kChunk, Layout::kKeyColumns>;
  using GradChunk = RowTilePart<GradTile, kChunk, Layout::kValueColumns>;
  using Score = Accumulator<kChunk>;
  /// Words of a chunk as operand, a thread and strip.
  static constexpr int kWords = kChunk * kElement / 8;
  using Words = u32[kStrips][kWords];

  const PortableBackwardParams& params;
  const Layout& layout;
  const BackwardWarp<Variant>& warp;
  Accumulator<Layout::kKeyColumns> d_key[kStrips];
  Accumulator<Layout::kValueColumns> d_value[kStrips];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      d_key[s].clear();
      d_value[s].clear();
    }
  }

  /// A chunk of the warp's own queries; P and dS go to shared memory for whoever needs them.
  __device__ __forceinline__ void add_own(const Score (&score)[kStrips],
                                          const Score (&d_probability)[kStrips], i32 first_query) {
    // Both as operands before the first product: half the registers for 16-bit elements.
    Words probability, d_score;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) to_operand_words<Element>(score[s], probability[s]);
    if constexpr (Layout::kColumnWarps > 1 && kWantsValue) hand_over(probability, first_query);
    if constexpr (kWantsKey || Variant::kWantsQuery) {
#pragma unroll
      for (int s = 0; s < kStrips; ++s) to_operand_words<Element>(d_probability[s], d_score[s]);
      store_d_scores(d_score, first_query);
    }
    if constexpr (kWantsValue) add_value_product(probability, first_query);
    if constexpr (kWantsKey) add_key_product(d_score, first_query);
  }

  /// The other warps' queries, behind a barrier.
  __device__ __forceinline__ void add_others() {
    constexpr int kOwn = Layout::kOwnQueries / kChunk, kAll = Layout::kQueryTile / kChunk;
#pragma unroll
    for (i32 other = kOwn; other < kAll; ++other) {
      const i32 first_query = (warp.column_warp * kOwn + other) % kAll * kChunk;
      Words word;
      if constexpr (kWantsValue) {
        take_over(word, first_query);
        add_value_product(word, first_query);
      }
      if constexpr (kWantsKey) {
        load_d_scores(word, first_query);
        add_key_product(word, first_query);
      }
    }
  }

  /// Zeros for keys of the tile from `live_keys` on: what a dead key meets may be NaN.
  __device__ __forceinline__ void clear_from(i32 live_keys) {
    if (live_keys >= Layout::kKeyTile) return;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      const i32 first_key = warp.first_key() + 16 * s + static_cast<i32>(warp.lane / 4);
      d_key[s].clear_rows_from(live_keys - first_key);
      d_value[s].clear_rows_from(live_keys - first_key);
    }
  }

  __device__ __forceinline__ void store() const {
    const PortableGradientStore<Variant> to = {params, layout.item(), warp.first_key(),
                                               warp.column_warp, warp.lane};
    if constexpr (kWantsKey) {
      to.store(d_key, {params.d_key, params.d_key_sums, params.d_key_strides, params.head_dim,
                       params.d_key_in_vectors, params.scale});
    }
    if constexpr (kWantsValue) {
      to.store(d_value, {params.d_value, params.d_value_sums, params.d_value_strides,
                         params.value_dim, params.d_value_in_vectors, 1.0f});
    }
  }

 private:
  /// Where P of a chunk lies as another warp's operand.
  __device__ __forceinline__ ptx::SharedAddress handed_over(i32 first_query) const {
    const i32 chunk = warp.key_warp * (Layout::kQueryTile / kChunk) + first_query / kChunk;
    return layout.probability() + chunk * Layout::kOperandBytes + warp.here() * 16;
  }

  __device__ __forceinline__ void hand_over(const Words& word, i32 first_query) const {
    const ptx::SharedAddress to = handed_over(first_query);
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int w = 0; w < kWords; w += 4) {
        ptx::store_shared(to + (s * kWords + w) * 128,
                          ptx::Words4{word[s][w], word[s][w + 1], word[s][w + 2], word[s][w + 3]});
      }
    }
  }

  __device__ __forceinline__ void take_over(Words& word, i32 first_query) const {
    const ptx::SharedAddress from = handed_over(first_query);
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int w = 0; w < kWords; w += 4) {
        const ptx::Words4 loaded = ptx::load_shared_words4(from + (s * kWords + w) * 128);
        word[s][w] = loaded.x;
        word[s][w + 1] = loaded.y;
        word[s][w + 2] = loaded.z;
        word[s][w + 3] = loaded.w;
      }
    }
  }

  /// Where a strip's dS^T of a chunk lies.
  __device__ __forceinline__ ptx::SharedAddress d_scores_at(int strip, i32 first_query) const {
    return layout.d_score() + (warp.first_key() + 16 * strip) * ScoreTile::kRowBytes +
           first_query * kElement;
  }

  __device__ __forceinline__ void store_d_scores(const Words& word, i32 first_query) const {
    const u32 lane = warp.here();
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int w = 0; w < kWords; w += 4) {
        store_operand_step<Element, ScoreTile>(d_scores_at(s, first_query) + w / 4 * kStepBytes,
                                               lane, &word[s][w]);
      }
    }
  }

  __device__ __forceinline__ void load_d_scores(Words& word, i32 first_query) const {
    const u32 lane = warp.here();
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
#pragma unroll
      for (int w = 0; w < kWords; w += 4) {
        load_operand_step<Element, ScoreTile>(
            &word[s][w], d_scores_at(s, first_query) + w / 4 * kStepBytes, lane);
      }
    }
  }

  template <class Tile>
  __device__ __forceinline__ ptx::SharedAddress lane_along_rows(ptx::SharedAddress at) const {
    if constexpr (kIsFloat<Element>) {
      return lane_in_row_pairs<Tile>(at, warp.here());
    } else {
      return lane_in_16_rows<Tile>(at, warp.here());
    }
  }

  /// dV += P^T dO.
  __device__ __forceinline__ void add_value_product(const Words& word, i32 first_query) {
    const ptx::SharedAddress rows =
        layout.d_out(warp.grad_stage()) + first_query * GradTile::kRowBytes;
    const u32 columns = warp.column_warp * Layout::kValueColumns * kElement;
    value_product<Element, GradChunk>(d_value, word, lane_along_rows<GradTile>(rows + columns));
  }

  /// dK += dS^T Q.
  __device__ __forceinline__ void add_key_product(const Words& word, i32 first_query) {
    const ptx::SharedAddress rows =
        layout.query(warp.query_stage()) + first_query * QueryTile::kRowBytes;
    const u32 columns = warp.column_warp * Layout::kKeyColumns * kElement;
    value_product<Element, QueryChunk>(d_key, word, lane_along_rows<QueryTile>(rows + columns));
  }
};

}  // namespace tilewright::cuda
