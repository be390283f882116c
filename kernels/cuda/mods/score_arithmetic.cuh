// The float rows of src/ir/ops.def as a score_mod computes them: fp32, contraction allowed, every
// function within a few units in the last place, no call of a subroutine and no table in local
// memory, so that matrix instructions keep running beside it.
#pragma once

#include "mods/float_rows.cuh"
#include "mods/trigonometry.cuh"

namespace tilewright::cuda::mods {

struct ScoreArithmetic : FloatRows<float> {
#define TILEWRIGHT_DEVICE static __device__ __forceinline__
  TILEWRIGHT_DEVICE float fmin(float a, float b) { return ptx::smaller_or_nan(a, b); }
  TILEWRIGHT_DEVICE float fmax(float a, float b) { return ptx::larger_or_nan(a, b); }
  TILEWRIGHT_DEVICE float fclamp(float a, float low, float high) {
    return fmin(fmax(a, low), high);
  }
  TILEWRIGHT_DEVICE float relu(float a) { return fmax(a, 0.0f); }

  TILEWRIGHT_DEVICE float add(float a, float b) { return a + b; }
  TILEWRIGHT_DEVICE float sub(float a, float b) { return a - b; }
  TILEWRIGHT_DEVICE float mul(float a, float b) { return a * b; }
  /// One Newton step on the approximate reciprocal of a divisor brought near 1, and one on the
  /// quotient; what is not a number's ordinary quotient comes from the approximation itself.
  TILEWRIGHT_DEVICE float div(float a, float b) {
    const float size = ptx::magnitude(b);
    const float lift = size < 1.0e-18f ? 18446744073709551616.0f
                                       : (size > 1.0e18f ? 5.421010862427522e-20f : 1.0f);
    const float divisor = b * lift;
    float inverse = ptx::reciprocal(divisor);
    const float plain = a * inverse * lift;
    inverse = ptx::fused(ptx::fused(-divisor, inverse, 1.0f), inverse, inverse);
    const float quotient = a * inverse;
    const float better = ptx::fused(ptx::fused(-divisor, quotient, a), inverse, quotient) * lift;
    const bool ordinary = ptx::magnitude(better) <= 3.402823466e38f;
    return ordinary ? better : plain;
  }
  TILEWRIGHT_DEVICE float ffloor_div(float a, float b) { return floor(__fdiv_rn(a, b)); }
  TILEWRIGHT_DEVICE float ftrunc_div(float a, float b) { return trunc(__fdiv_rn(a, b)); }
  TILEWRIGHT_DEVICE float ftrunc_mod(float a, float b) { return fmodf(a, b); }
  TILEWRIGHT_DEVICE float ffloor_mod(float a, float b) {
    const float rest = fmodf(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }

  TILEWRIGHT_DEVICE float exp(float a) { return expf(a); }
  TILEWRIGHT_DEVICE float exp2(float a) { return exp2f(a); }
  TILEWRIGHT_DEVICE float expm1(float a) { return expm1f(a); }
  TILEWRIGHT_DEVICE float log(float a) { return logf(a); }
  TILEWRIGHT_DEVICE float log2(float a) { return log2f(a); }
  TILEWRIGHT_DEVICE float log1p(float a) { return log1pf(a); }
  TILEWRIGHT_DEVICE float sqrt(float a) { return a * rsqrt_of_positive(a); }
  TILEWRIGHT_DEVICE float rsqrt(float a) { return rsqrtf(a); }
  TILEWRIGHT_DEVICE float pow(float a, float b) { return powf(a, b); }
  TILEWRIGHT_DEVICE float sin(float a) { return sine(a); }
  TILEWRIGHT_DEVICE float cos(float a) { return cosine(a); }
  TILEWRIGHT_DEVICE float tan(float a) { return tangent(a); }
  TILEWRIGHT_DEVICE float sinh(float a) { return sinhf(a); }
  TILEWRIGHT_DEVICE float cosh(float a) { return coshf(a); }
  TILEWRIGHT_DEVICE float atan(float a) { return atanf(a); }
  TILEWRIGHT_DEVICE float erf(float a) { return erff(a); }
  TILEWRIGHT_DEVICE float gelu(float a) { return 0.5f * a * erfcf(a * -0.70710678f); }
  TILEWRIGHT_DEVICE float silu(float a) { return a * sigmoid(a); }
  TILEWRIGHT_DEVICE float softplus(float a) {
    const float above = a > 0.0f ? a : 0.0f;
    const float sum = above + log1pf(expf(-ptx::magnitude(a)));
    return a != a ? a : sum;
  }

  /// e = exp(-|a|) never overflows: a > 0 gives 1 / (1 + e), the rest e / (1 + e).
  TILEWRIGHT_DEVICE float sigmoid(float a) {
    const float e = expf(-ptx::magnitude(a));
    return (a >= 0.0f ? 1.0f : e) * ptx::reciprocal(1.0f + e);
  }

  /// (1 - e) / (1 + e) with e = exp(-2|a|); near 0, where that cancels, the odd series.
  TILEWRIGHT_DEVICE float tanh(float a) {
    const float size = ptx::magnitude(a);
    const float e = ptx::exp2_fast(size * -2.88539008f);
    const float far = (1.0f - e) * ptx::reciprocal(1.0f + e);
    const float s = a * a;
    float near = ptx::fused(s, 0.0218694885f, -0.0539682540f);
    near = ptx::fused(s, near, 0.133333333f);
    near = ptx::fused(s, near, -0.333333333f);
    near = ptx::fused(a * s, near, a);
    return size < 0.25f ? near : ptx::with_sign_of(far, a);
  }

 private:
  /// 1 / sqrt(a), but 1 where the root is a itself: zeros and +inf.
  TILEWRIGHT_DEVICE float rsqrt_of_positive(float a) {
    const bool is_own_root = a == 0.0f || a > 3.402823466e38f;
    return is_own_root ? 1.0f : rsqrtf(a);
  }
#undef TILEWRIGHT_DEVICE
};

/// The same with the special-function unit's own tanh, relative error about 2^-11, by option.
struct FastScoreArithmetic : ScoreArithmetic {
#define TILEWRIGHT_DEVICE static __device__ __forceinline__
  TILEWRIGHT_DEVICE float tanh(float a) { return ptx::tanh_fast(a); }
  TILEWRIGHT_DEVICE float sigmoid(float a) {
    return ptx::fused(ptx::tanh_fast(0.5f * a), 0.5f, 0.5f);
  }
  TILEWRIGHT_DEVICE float silu(float a) { return a * sigmoid(a); }
#undef TILEWRIGHT_DEVICE
};

/// tanh(a) as a polynomial without a special function, relative error 3e-8 for |a| <= kLimit: what
/// kernels use for tiles whose arguments are that small.
struct NearScoreArithmetic : ScoreArithmetic {
#define TILEWRIGHT_DEVICE static __device__ __forceinline__
  static constexpr float kLimit = 0.75f;
  TILEWRIGHT_DEVICE float tanh(float a) {
    const float s = a * a;
    float p = ptx::fused(s, -4.71627414e-3f, 1.95829324e-2f);
    p = ptx::fused(s, p, -5.33444424e-2f);
    p = ptx::fused(s, p, 0.133254063f);
    p = ptx::fused(s, p, -0.333329589f);
    p = ptx::fused(s, p, 0.999999971f);
    return a * p;
  }
  TILEWRIGHT_DEVICE float sigmoid(float a) { return ptx::fused(tanh(0.5f * a), 0.5f, 0.5f); }
#undef TILEWRIGHT_DEVICE
};

}  // namespace tilewright::cuda::mods
