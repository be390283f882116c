// The two products of a warpgroup's rows with a key tile, and the registers they work on.
#pragma once

#include "tile/attention_gemms.cuh"

namespace tilewright::cuda {

template <class Variant>
struct TileProducts {
  using Element = typename Variant::Element;
  static constexpr int kKeyTile = Variant::kKeyTile;

  Accumulator<kKeyTile> score;
  Accumulator<Variant::kValueDim> out;
  u32 probability[kKeyTile / 4];

  __device__ __forceinline__ void issue_scores(ptx::SharedAddress query, ptx::SharedAddress key) {
    score.pin();
    ptx::matrix_fence();
    issue_score_gemm<Element, Variant::kHeadDim>(score, query, key);
    ptx::matrix_commit();
  }

  __device__ __forceinline__ void issue_value(ptx::SharedAddress value) {
    out.pin();
    pin_probability();
    ptx::matrix_fence();
    issue_value_gemm<Element, kKeyTile, Variant::kValueDim>(out, probability, value);
    ptx::matrix_commit();
  }

  /// The scores that were issued before the product with the values.
  __device__ __forceinline__ void await_scores() {
    ptx::matrix_wait<1>();
    score.pin();
  }

  /// Scores with nothing beside them.
  __device__ __forceinline__ void await_all_scores() {
    score.pin();
    ptx::matrix_wait<0>();
    score.pin();
  }

  __device__ __forceinline__ void await_value() {
    ptx::matrix_wait<0>();
    out.pin();
    pin_probability();
  }

  __device__ __forceinline__ void rescale(const float (&factor)[kRowsPerThread]) {
#pragma unroll
    for (int e = 0; e < out.kElements; ++e) out.value[e] *= factor[out.row_slot(e)];
  }

 private:
  __device__ __forceinline__ void pin_probability() {
#pragma unroll
    for (int w = 0; w < kKeyTile / 4; ++w) ptx::pin(probability[w]);
  }
};

}  // namespace tilewright::cuda
