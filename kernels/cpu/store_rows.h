#pragma once

// Rows of O on their way out: times a factor each, in the storage type. fp32 accumulators only.
//
// `Simd` adds to what panel_product.h asks for: store(Bf16*, Register) and store(Half*, Register),
// rounding to nearest even, NaN kept.

#include "storage.h"

namespace tilewright::cpu {
namespace {

template <class Simd, class Stored>
inline void store_row(const float* row, float factor, std::int64_t columns, Stored* target) {
  const auto factors = Simd::broadcast(factor);
  std::int64_t column = 0;
  for (; column + Simd::kLanes <= columns; column += Simd::kLanes)
    Simd::store(target + column, Simd::multiply(Simd::load(row + column), factors));
  if (column == columns) return;
  // O has room for whole panels, the target has not.
  Stored rest[Simd::kLanes];
  Simd::store(rest, Simd::multiply(Simd::load(row + column), factors));
  for (std::int64_t lane = 0; column + lane < columns; ++lane) target[column + lane] = rest[lane];
}

template <class Simd, class Stored>
inline void store_all(const RowStore& rows) {
  const auto* row = static_cast<const float*>(rows.output);
  auto* target = static_cast<Stored*>(rows.target);
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    store_row<Simd>(row, static_cast<const float*>(rows.row_factor)[r], rows.columns, target);
    row += rows.output_stride;
    target += rows.target_stride;
  }
}

template <class Simd>
void store_rows(const RowStore& rows) {
  if (rows.type == DType::kBF16) return store_all<Simd, Bf16>(rows);
  if (rows.type == DType::kF16) return store_all<Simd, Half>(rows);
  store_all<Simd, float>(rows);
}

}  // namespace
}  // namespace tilewright::cpu
