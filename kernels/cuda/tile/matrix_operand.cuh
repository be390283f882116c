// A matrix fragment ready to be multiplied. 16-bit fragments are used as they are, Tf32 ones are
// rounded, and F32 ones are split: x = high + low with high of 11 significant bits, low exact; the
// product leaves out low * low, 2^-22 of it.
#pragma once

#include "ptx/mma.cuh"

namespace tilewright::cuda {

template <class Element, class Fragment>
struct MatrixOperand {
  static constexpr int kWords = sizeof(Fragment) / 4;
  Fragment whole;

  static __device__ __forceinline__ MatrixOperand of(const u32* word) {
    MatrixOperand made;
#pragma unroll
    for (int w = 0; w < kWords; ++w) made.whole.word[w] = word[w];
    return made;
  }
};

template <class Fragment>
struct MatrixOperand<Tf32, Fragment> {
  static constexpr int kWords = sizeof(Fragment) / 4;
  Fragment whole;

  static __device__ __forceinline__ MatrixOperand of(const u32* word) {
    MatrixOperand made;
#pragma unroll
    for (int w = 0; w < kWords; ++w) made.whole.word[w] = ptx::round_to_tf32(word[w]);
    return made;
  }
};

template <class Fragment>
struct MatrixOperand<F32, Fragment> {
  static constexpr int kWords = sizeof(Fragment) / 4;
  Fragment high;
  Fragment low;

  static __device__ __forceinline__ MatrixOperand of(const u32* word) {
    MatrixOperand made;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const u32 rounded = ptx::round_to_tf32(word[w]);
      made.high.word[w] = rounded;
      made.low.word[w] = ptx::bits_of(ptx::float_of(word[w]) - ptx::float_of(rounded));
    }
    return made;
  }
};

template <class Element>
using OperandA = MatrixOperand<Element, ptx::MatrixA>;
template <class Element>
using OperandB = MatrixOperand<Element, ptx::MatrixB>;

/// d += a b; the parts of fp32 products below 11 bits go to `low`, which may be d.
template <class Element>
__device__ __forceinline__ void multiply_add(float* d, float* /*low*/, const OperandA<Element>& a,
                                             const OperandB<Element>& b) {
  ptx::multiply_add(Element{}, d, a.whole, b.whole);
}

template <>
__device__ __forceinline__ void multiply_add<F32>(float* d, float* low, const OperandA<F32>& a,
                                                  const OperandB<F32>& b) {
  ptx::multiply_add(Tf32{}, low, a.low, b.high);
  ptx::multiply_add(Tf32{}, low, a.high, b.low);
  ptx::multiply_add(Tf32{}, d, a.high, b.high);
}

/// d += a b.
template <class Element>
__device__ __forceinline__ void multiply_add(float* d, const OperandA<Element>& a,
                                             const OperandB<Element>& b) {
  multiply_add<Element>(d, d, a, b);
}

}  // namespace tilewright::cuda
