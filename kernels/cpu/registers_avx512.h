#pragma once

// AVX-512 registers. Include only from files compiled with at least -mavx512f -mavx512bw -mavx512dq
// -mavx512vl.

#include <immintrin.h>

#include "storage.h"

namespace tilewright::cpu {
namespace {

struct Avx512F32 {
  static constexpr bool kStoresRows = true;
  using Accumulator = float;
  using Register = __m512;
  using Factor = float;
  using Packed = float;
  static constexpr int kLanes = 16;
  static constexpr int kDepthStep = 1;
  static constexpr int kDepthMultiple = 1;
  static constexpr int kRows = 14;  // 14 x 2 sums + 2 of B + 1 of A: 31 of 32 registers

  static Register zero() { return _mm512_setzero_ps(); }
  static Register load(const float* p) { return _mm512_loadu_ps(p); }
  static Register load(const Bf16* p) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static Register load(const Half* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void store(float* p, Register value) { _mm512_storeu_ps(p, value); }
  static void store(Half* p, Register value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(value, 0));
  }
  static void store(Bf16* p, Register value) {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounding = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    const __m512i words = _mm512_mask_mov_epi32(_mm512_add_epi32(bits, rounding), is_nan, quiet);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(words, 16)));
  }
  static Register broadcast(float value) { return _mm512_set1_ps(value); }
  static Register multiply(Register a, Register b) { return _mm512_mul_ps(a, b); }
  static Register multiply_add(Register a, Register b, Register c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  static float sum(Register value) { return _mm512_reduce_add_ps(value); }

  static Register load_panel(const unsigned char* p) { return _mm512_loadu_ps(p); }
  static Register spread(const float* p) { return _mm512_set1_ps(*p); }
};

struct Avx512F64 {
  static constexpr bool kStoresRows = false;
  using Accumulator = double;
  using Register = __m512d;
  using Factor = double;
  using Packed = double;
  static constexpr int kLanes = 8;
  static constexpr int kDepthStep = 1;
  static constexpr int kDepthMultiple = 1;
  static constexpr int kRows = 14;

  static Register zero() { return _mm512_setzero_pd(); }
  static Register load(const double* p) { return _mm512_loadu_pd(p); }
  static Register load(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
  static Register load(const Bf16* p) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m256i words = _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
    return _mm512_cvtps_pd(_mm256_castsi256_ps(words));
  }
  static Register load(const Half* p) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtps_pd(_mm256_cvtph_ps(bits));
  }
  static void store(double* p, Register value) { _mm512_storeu_pd(p, value); }
  static Register broadcast(double value) { return _mm512_set1_pd(value); }
  static Register multiply(Register a, Register b) { return _mm512_mul_pd(a, b); }
  static Register multiply_add(Register a, Register b, Register c) {
    return _mm512_fmadd_pd(a, b, c);
  }
  static double sum(Register value) { return _mm512_reduce_add_pd(value); }

  static Register load_panel(const unsigned char* p) { return _mm512_loadu_pd(p); }
  static Register spread(const double* p) { return _mm512_set1_pd(*p); }
};

}  // namespace
}  // namespace tilewright::cpu
