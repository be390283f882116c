#include "backends/cpu/stored_rows.h"

#include "base/half.h"

namespace tilewright::cpu {

namespace {

struct Bf16 {
  std::uint16_t bits;
};
struct Half {
  std::uint16_t bits;
};

double to_real(double value) { return value; }
float to_real(float value) { return value; }
float to_real(Bf16 value) { return bf16_to_float(value.bits); }
float to_real(Half value) { return f16_to_float(value.bits); }

void to_stored(double value, double& stored) { stored = value; }
void to_stored(double value, float& stored) { stored = static_cast<float>(value); }
void to_stored(float value, double& stored) { stored = value; }
void to_stored(float value, float& stored) { stored = value; }
template <class Real>
void to_stored(Real value, Bf16& stored) {
  stored.bits = float_to_bf16(static_cast<float>(value));
}
template <class Real>
void to_stored(Real value, Half& stored) {
  stored.bits = float_to_f16(static_cast<float>(value));
}

/// Calls body(a null pointer to the stored type).
template <class Body>
void with_stored(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kF64:
      return body(static_cast<double*>(nullptr));
    case DType::kF32:
      return body(static_cast<float*>(nullptr));
    case DType::kBF16:
      return body(static_cast<Bf16*>(nullptr));
    default:
      return body(static_cast<Half*>(nullptr));
  }
}

std::int64_t stride_of(const TensorView& tensor, std::size_t axis) {
  return tensor.shape[axis] == 1 ? 0 : tensor.strides[axis];
}

}  // namespace

MatrixView head_rows(const TensorView& tensor, std::int64_t b, std::int64_t h, TokenRange rows) {
  const std::int64_t offset =
      b * stride_of(tensor, 0) + h * stride_of(tensor, 1) + rows.begin * stride_of(tensor, 2);
  return {.data = static_cast<const char*>(tensor.data) +
                  offset * static_cast<std::int64_t>(size_bytes(tensor.dtype)),
          .type = tensor.dtype,
          .rows = rows.size(),
          .columns = tensor.shape[3],
          .row_stride = stride_of(tensor, 2),
          .column_stride = stride_of(tensor, 3)};
}

template <class Real>
void read_row(const MatrixView& matrix, std::int64_t r, Real* row) {
  with_stored(matrix.type, [&]<class Stored>(Stored*) {
    const Stored* const from = static_cast<const Stored*>(matrix.data) + r * matrix.row_stride;
    if (matrix.column_stride == 1) {
      for (std::int64_t c = 0; c < matrix.columns; ++c)
        row[c] = static_cast<Real>(to_real(from[c]));
      return;
    }
    for (std::int64_t c = 0; c < matrix.columns; ++c)
      row[c] = static_cast<Real>(to_real(from[c * matrix.column_stride]));
  });
}

template <class Real>
void store_rows(const TensorView& tensor, const HeadRows& place, const SummedRows<Real>& sums) {
  const std::int64_t head = place.b * stride_of(tensor, 0) + place.h * stride_of(tensor, 1);
  const std::int64_t columns = tensor.shape[3];
  const std::int64_t column_stride = stride_of(tensor, 3);
  with_stored(tensor.dtype, [&]<class Stored>(Stored*) {
    const Real* from = sums.first;
    for (std::int64_t r = place.rows.begin; r < place.rows.end; ++r, from += sums.stride) {
      Stored* const to = static_cast<Stored*>(tensor.data) + head + r * stride_of(tensor, 2);
      if (column_stride == 1) {
        for (std::int64_t c = 0; c < columns; ++c) to_stored(sums.scale * from[c], to[c]);
        continue;
      }
      for (std::int64_t c = 0; c < columns; ++c)
        to_stored(sums.scale * from[c], to[c * column_stride]);
    }
  });
}

template void read_row<float>(const MatrixView&, std::int64_t, float*);
template void read_row<double>(const MatrixView&, std::int64_t, double*);
template void store_rows<float>(const TensorView&, const HeadRows&, const SummedRows<float>&);
template void store_rows<double>(const TensorView&, const HeadRows&, const SummedRows<double>&);

}  // namespace tilewright::cpu
