#pragma once

#include <cstdint>

#include "kernels/cpu/micro_kernel.h"
#include "tilewright/mask_map.h"
#include "tilewright/tensor.h"

namespace tilewright::cpu {

/// The matrix of one head: rows x columns of a [B, H, rows, columns] tensor.
MatrixView head_rows(const TensorView& tensor, std::int64_t b, std::int64_t h, TokenRange rows);

/// Reads one row of any floating type into `row`, Real being float or double.
template <class Real>
void read_row(const MatrixView& matrix, std::int64_t r, Real* row);

/// Rows of one head.
struct HeadRows {
  std::int64_t b = 0;
  std::int64_t h = 0;
  TokenRange rows;
};

/// Rows of sums, row-major, each to be multiplied by `scale`.
template <class Real>
struct SummedRows {
  const Real* first = nullptr;
  std::int64_t stride = 0;
  Real scale = 1;
};

/// Writes scale * sums to the rows of one head, rounding to the tensor's type.
template <class Real>
void store_rows(const TensorView& tensor, const HeadRows& place, const SummedRows<Real>& sums);

extern template void read_row<float>(const MatrixView&, std::int64_t, float*);
extern template void read_row<double>(const MatrixView&, std::int64_t, double*);
extern template void store_rows<float>(const TensorView&, const HeadRows&,
                                       const SummedRows<float>&);
extern template void store_rows<double>(const TensorView&, const HeadRows&,
                                        const SummedRows<double>&);

}  // namespace tilewright::cpu
