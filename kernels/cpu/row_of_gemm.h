#pragma once

// A row of the table, filled in from a description of the registers: `Gemm` for the tile products
// and the packing, `Simd` (accumulator-wide registers) for the direct products.

#include "direct_product.h"
#include "panel_pack.h"
#include "panel_product.h"
#include "store_rows.h"
#include "transposed_product.h"

namespace tilewright::cpu {
namespace {

constexpr std::uint8_t source_bit(DType type) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(type));
}

inline constexpr std::uint8_t kF32Sources =
    source_bit(DType::kF32) | source_bit(DType::kBF16) | source_bit(DType::kF16);
inline constexpr std::uint8_t kF64Sources = kF32Sources | source_bit(DType::kF64);

/// Everything but the tile products.
template <class Gemm, class Simd>
constexpr MicroKernel make_packing_row(const char* name, Isa isa) {
  const bool is_f64 = sizeof(typename Gemm::Accumulator) == sizeof(double);
  const bool is_bf16 = sizeof(typename Gemm::Packed) == sizeof(Bf16);
  MicroKernel row{};
  row.name = name;
  row.isa = isa;
  row.compute = is_bf16 ? DType::kBF16 : is_f64 ? DType::kF64 : DType::kF32;
  row.accumulator = is_f64 ? DType::kF64 : DType::kF32;
  row.sources = is_bf16 ? source_bit(DType::kBF16) : is_f64 ? kF64Sources : kF32Sources;
  row.row_multiple = Gemm::kRows;
  row.column_multiple = kColumns<Gemm>;
  row.depth_multiple = Gemm::kDepthMultiple;
  row.pack_query = pack_query<Gemm>;
  row.pack_key = pack_key<Gemm>;
  row.pack_value = pack_value<Gemm>;
  row.score_direct = score_direct<Simd>;
  row.output_direct = output_direct<Simd>;
  if constexpr (Simd::kStoresRows) row.store_rows = store_rows<Simd>;
  return row;
}

template <class Gemm, class Simd>
constexpr MicroKernel make_row(const char* name, Isa isa) {
  MicroKernel row = make_packing_row<Gemm, Simd>(name, isa);
  row.score_tile = score_tile<Gemm>;
  row.output_tile = output_tile<Gemm>;
  if constexpr (Gemm::kDepthStep == 1) row.transposed_tile = transposed_tile<Gemm>;
  return row;
}

}  // namespace
}  // namespace tilewright::cpu
