#pragma once

// Storage types narrower than the compute types, and their exact scalar conversions. Everything
// here has internal linkage: each kernel file gets a copy compiled with its own flags.

#include "micro_kernel.h"

namespace tilewright::cpu {
namespace {

struct Bf16 {
  std::uint16_t bits;
};

struct Half {
  std::uint16_t bits;
};

inline float float_from_bits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

inline float to_float(float value) { return value; }
inline float to_float(Bf16 value) {
  return float_from_bits(static_cast<std::uint32_t>(value.bits) << 16);
}

/// IEEE binary16 to binary32 without F16C. Moving exponent and mantissa into place leaves the
/// exponent 112 too small; the product with 2^112 repairs it and normalises subnormals exactly.
/// Infinity and NaN, whose exponent is all ones, come out as 2^16 and more and get it restored.
inline float to_float(Half value) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7fffU) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const float scaled = float_from_bits(magnitude) * 0x1p112F;
  const std::uint32_t special = magnitude >= 0x0f800000U ? 0x7f800000U : 0U;
  return float_from_bits(__builtin_bit_cast(std::uint32_t, scaled) | special | sign);
}

template <class Scalar, class Source>
inline Scalar convert(Source value) {
  return static_cast<Scalar>(to_float(value));
}
template <>
inline double convert<double, double>(double value) {
  return value;
}

template <class Source>
struct SourceTag {
  using type = Source;
};

/// Calls body(SourceTag<T>) with the T that stores `type`, among those that kernels with Packed
/// operands accept (MicroKernel::sources); the others are not even compiled for it.
template <class Packed, class Body>
inline void with_source(DType type, const Body& body) {
  if constexpr (sizeof(Packed) == sizeof(Bf16)) {
    body(SourceTag<Bf16>{});
  } else {
    if constexpr (sizeof(Packed) == sizeof(double)) {
      if (type == DType::kF64) return body(SourceTag<double>{});
    }
    if (type == DType::kBF16) return body(SourceTag<Bf16>{});
    if (type == DType::kF16) return body(SourceTag<Half>{});
    body(SourceTag<float>{});
  }
}

inline std::int64_t round_up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

inline std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// Element (row, 0) of a view.
template <class Source>
inline const Source* row_of(const MatrixView& view, std::int64_t row) {
  return static_cast<const Source*>(view.data) + row * view.row_stride;
}

}  // namespace
}  // namespace tilewright::cpu
