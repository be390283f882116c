#pragma once

// The arithmetic ceiling of one core: multiply-add loops that touch registers only. Every speed of
// the CPU backend is reported as a share of the ceiling measured in the same run.

#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/cpu/microkernels.h"

namespace tilewright::bench {

/// Runs `loops` rounds of the register loop and returns the number of floating-point operations.
using PeakLoop = std::int64_t (*)(std::int64_t loops, float* sink);

inline constexpr int kPeakSums = 12;  // independent sums: latency 4 to 6 x 2 a cycle at most

// Each sum converges to 1 under x -> x / 2 + 1 / 2, so nothing overflows, turns subnormal, or is
// known to the compiler. The target attribute lets one portable program hold every loop.
[[gnu::target("avx2,fma"), gnu::noinline]] inline std::int64_t peak_f32_avx2(std::int64_t loops,
                                                                             float* sink) {
  const __m256 half = _mm256_set1_ps(*sink);
  __m256 sums[kPeakSums];
  for (auto& sum : sums) sum = half;
  for (std::int64_t i = 0; i < loops; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kPeakSums; ++j) sums[j] = _mm256_fmadd_ps(sums[j], half, half);
  }
  for (const auto& sum : sums) *sink += 0 * _mm256_cvtss_f32(sum);
  return loops * kPeakSums * 8 * 2;
}

[[gnu::target("avx2,fma"), gnu::noinline]] inline std::int64_t peak_f64_avx2(std::int64_t loops,
                                                                             float* sink) {
  const __m256d half = _mm256_set1_pd(*sink);
  __m256d sums[kPeakSums];
  for (auto& sum : sums) sum = half;
  for (std::int64_t i = 0; i < loops; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kPeakSums; ++j) sums[j] = _mm256_fmadd_pd(sums[j], half, half);
  }
  for (const auto& sum : sums) *sink += static_cast<float>(0 * _mm256_cvtsd_f64(sum));
  return loops * kPeakSums * 4 * 2;
}

[[gnu::target("avx512f"), gnu::noinline]] inline std::int64_t peak_f32_avx512(std::int64_t loops,
                                                                              float* sink) {
  const __m512 half = _mm512_set1_ps(*sink);
  __m512 sums[kPeakSums];
  for (auto& sum : sums) sum = half;
  for (std::int64_t i = 0; i < loops; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kPeakSums; ++j) sums[j] = _mm512_fmadd_ps(sums[j], half, half);
  }
  for (const auto& sum : sums) *sink += 0 * _mm512_cvtss_f32(sum);
  return loops * kPeakSums * 16 * 2;
}

[[gnu::target("avx512f"), gnu::noinline]] inline std::int64_t peak_f64_avx512(std::int64_t loops,
                                                                              float* sink) {
  const __m512d half = _mm512_set1_pd(*sink);
  __m512d sums[kPeakSums];
  for (auto& sum : sums) sum = half;
  for (std::int64_t i = 0; i < loops; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kPeakSums; ++j) sums[j] = _mm512_fmadd_pd(sums[j], half, half);
  }
  for (const auto& sum : sums) *sink += static_cast<float>(0 * _mm512_cvtsd_f64(sum));
  return loops * kPeakSums * 8 * 2;
}

[[gnu::target("avx512f,avx512bf16"), gnu::noinline]] inline std::int64_t peak_bf16_avx512(
    std::int64_t loops, float* sink) {
  // Pairs of bf16 zeros: the sums keep their value, the unit does the same work.
  const auto pairs = reinterpret_cast<__m512bh>(_mm512_castps_si512(_mm512_set1_ps(*sink - *sink)));
  __m512 sums[kPeakSums];
  for (auto& sum : sums) sum = _mm512_set1_ps(*sink);
  for (std::int64_t i = 0; i < loops; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kPeakSums; ++j) sums[j] = _mm512_dpbf16_ps(sums[j], pairs, pairs);
  }
  for (const auto& sum : sums) *sink += 0 * _mm512_cvtss_f32(sum);
  return loops * kPeakSums * 32 * 2;
}

[[gnu::target("amx-tile,amx-bf16"), gnu::noinline]] inline std::int64_t peak_bf16_amx(
    std::int64_t loops, float* /*sink*/) {
  struct alignas(64) Config {
    std::uint8_t palette, start_row, reserved[14];
    std::uint16_t row_bytes[16];
    std::uint8_t rows[16];
  };
  // A constant: the intrinsic tells the compiler of its first eight bytes only.
  static constexpr Config kConfig = {
      1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
  _tile_loadconfig(&kConfig);
  _tile_zero(6);
  _tile_zero(7);
  for (std::int64_t i = 0; i < loops; ++i) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  _tile_release();
  return loops * 6 * 16 * 16 * 32 * 2;
}

// The portable rows use 16-byte vectors of the baseline, which has no fused multiply-add.
[[gnu::noinline]] inline std::int64_t peak_f32_portable(std::int64_t loops, float* sink) {
  const __m128 half = _mm_set1_ps(*sink);
  __m128 sums[kPeakSums];
  for (auto& sum : sums) sum = half;
  for (std::int64_t i = 0; i < loops; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kPeakSums; ++j) sums[j] = _mm_add_ps(_mm_mul_ps(sums[j], half), half);
  }
  for (const auto& sum : sums) *sink += 0 * _mm_cvtss_f32(sum);
  return loops * kPeakSums * 4 * 2;
}

[[gnu::noinline]] inline std::int64_t peak_f64_portable(std::int64_t loops, float* sink) {
  const __m128d half = _mm_set1_pd(*sink);
  __m128d sums[kPeakSums];
  for (auto& sum : sums) sum = half;
  for (std::int64_t i = 0; i < loops; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kPeakSums; ++j) sums[j] = _mm_add_pd(_mm_mul_pd(sums[j], half), half);
  }
  for (const auto& sum : sums) *sink += static_cast<float>(0 * _mm_cvtsd_f64(sum));
  return loops * kPeakSums * 2 * 2;
}

/// The loop whose instruction is the one that `kernel` multiplies with.
inline PeakLoop peak_loop(const cpu::MicroKernel& kernel) {
  const bool f64 = kernel.compute == DType::kF64;
  switch (kernel.isa) {
    case cpu::Isa::kPortable:
      return f64 ? peak_f64_portable : peak_f32_portable;
    case cpu::Isa::kAvx2:
      return f64 ? peak_f64_avx2 : peak_f32_avx2;
    case cpu::Isa::kAvx512:
      return f64 ? peak_f64_avx512 : peak_f32_avx512;
    case cpu::Isa::kAvx512Bf16:
      return peak_bf16_avx512;
    case cpu::Isa::kAmx:
      return peak_bf16_amx;
  }
  return peak_f32_portable;
}

/// Median and range over the timings of a measurement.
struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;
};

inline Spread spread_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples.front(), samples.back()};
}

/// Seconds that this thread has run: time in which the system ran something else does not count.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Operations (or bytes) a second, in 1e9, of body(loops), which returns how many it did.
template <class Body>
double rate_once(const Body& body, std::int64_t loops) {
  const double begin = thread_seconds();
  const auto operations = static_cast<double>(body(loops));
  return operations / (thread_seconds() - begin) * 1e-9;
}

/// The loop count for which body(loops) lasts about `seconds`.
template <class Body>
std::int64_t loops_for(const Body& body, double seconds) {
  std::int64_t loops = 1;
  while (true) {
    const double begin = thread_seconds();
    body(loops);
    if (thread_seconds() - begin > seconds) return loops;
    loops *= 2;
  }
}

/// What a kernel reaches, beside the ceiling of the same milliseconds.
struct Measurement {
  Spread rate;     ///< 1e9 operations or bytes a second
  Spread ceiling;  ///< 1e9 operations a second
  Spread share;    ///< rate over ceiling, timing by timing
};

/// Alternates the two, because clocks and neighbours change within a run.
template <class Ceiling, class Body>
Measurement measure_beside(const Ceiling& ceiling, const Body& body, int repeats = 25) {
  constexpr double kSliceSeconds = 0.004;
  const std::int64_t ceiling_loops = loops_for(ceiling, kSliceSeconds);
  const std::int64_t body_loops = loops_for(body, kSliceSeconds);
  std::vector<double> ceilings;
  std::vector<double> rates;
  std::vector<double> shares;
  for (int i = 0; i < repeats; ++i) {
    ceilings.push_back(rate_once(ceiling, ceiling_loops));
    rates.push_back(rate_once(body, body_loops));
    shares.push_back(rates.back() / ceilings.back());
  }
  return {spread_of(rates), spread_of(ceilings), spread_of(shares)};
}

}  // namespace tilewright::bench
