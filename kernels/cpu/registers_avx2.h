#pragma once

// AVX2 + FMA + F16C registers. Include only from files compiled with -mavx2 -mfma -mf16c.

#include <immintrin.h>

#include "storage.h"

namespace tilewright::cpu {
namespace {

struct Avx2F32 {
  static constexpr bool kStoresRows = true;
  using Accumulator = float;
  using Register = __m256;
  using Factor = float;
  using Packed = float;
  static constexpr int kLanes = 8;
  static constexpr int kDepthStep = 1;
  static constexpr int kDepthMultiple = 1;
  static constexpr int kRows = 6;  // 6 x 2 sums + 2 of B + 1 of A: 15 of 16 registers

  static Register zero() { return _mm256_setzero_ps(); }
  static Register load(const float* p) { return _mm256_loadu_ps(p); }
  static Register load(const Bf16* p) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static Register load(const Half* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static void store(float* p, Register value) { _mm256_storeu_ps(p, value); }
  static void store(Half* p, Register value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(value, 0));
  }
  static void store(Bf16* p, Register value) {
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounding = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    const __m256i rounded = _mm256_add_epi32(bits, rounding);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256 is_nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    const __m256i words = _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(is_nan));
    const __m256i halves = _mm256_srli_epi32(words, 16);
    const __m128i packed =
        _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), packed);
  }
  static Register broadcast(float value) { return _mm256_set1_ps(value); }
  static Register multiply(Register a, Register b) { return _mm256_mul_ps(a, b); }
  static Register multiply_add(Register a, Register b, Register c) {
    return _mm256_fmadd_ps(a, b, c);
  }
  static float sum(Register value) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  }

  static Register load_panel(const unsigned char* p) {
    return load(reinterpret_cast<const float*>(p));
  }
  static Register spread(const float* p) { return _mm256_broadcast_ss(p); }
};

struct Avx2F64 {
  static constexpr bool kStoresRows = false;
  using Accumulator = double;
  using Register = __m256d;
  using Factor = double;
  using Packed = double;
  static constexpr int kLanes = 4;
  static constexpr int kDepthStep = 1;
  static constexpr int kDepthMultiple = 1;
  static constexpr int kRows = 6;

  static Register zero() { return _mm256_setzero_pd(); }
  static Register load(const double* p) { return _mm256_loadu_pd(p); }
  static Register load(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  static Register load(const Bf16* p) {
    const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(bits), 16)));
  }
  static Register load(const Half* p) {
    const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm256_cvtps_pd(_mm_cvtph_ps(bits));
  }
  static void store(double* p, Register value) { _mm256_storeu_pd(p, value); }
  static Register broadcast(double value) { return _mm256_set1_pd(value); }
  static Register multiply(Register a, Register b) { return _mm256_mul_pd(a, b); }
  static Register multiply_add(Register a, Register b, Register c) {
    return _mm256_fmadd_pd(a, b, c);
  }
  static double sum(Register value) {
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(value), _mm256_extractf128_pd(value, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
  }

  static Register load_panel(const unsigned char* p) {
    return load(reinterpret_cast<const double*>(p));
  }
  static Register spread(const double* p) { return _mm256_broadcast_sd(p); }
};

}  // namespace
}  // namespace tilewright::cpu
