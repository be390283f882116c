#include "backends/cpu/block_operands.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/stored_rows.h"
#include "base/element.h"
#include "base/half.h"

namespace tilewright::cpu {

namespace {

template <class Real>
constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

std::int64_t row_offset(const TensorView& tensor, std::int64_t b, std::int64_t h, std::int64_t q) {
  const auto stride = [&](std::size_t axis) {
    return tensor.shape[axis] == 1 ? 0 : tensor.strides[axis];
  };
  return b * stride(0) + h * stride(1) + q * stride(2);
}

/// Prepares one block in accumulators of type Real.
template <class Real>
class BlockPreparation {
 public:
  BlockPreparation(const BackwardCall& call, const BackwardLayout& layout, const BlockPlace& place,
                   const BlockMemory& memory, char* staging)
      : call_(call),
        kernel_(*call.kernel),
        place_(place),
        memory_(memory),
        staged_(reinterpret_cast<Real*>(staging)),
        narrow_(staging + layout.staging),
        lse_(reinterpret_cast<Real*>(memory.lse)),
        delta_(reinterpret_cast<Real*>(memory.delta)) {}

  void run() {
    const BackwardInputs& inputs = *call_.inputs;
    const MatrixView query = rows_of(inputs.query);
    const MatrixView d_out = rows_of(inputs.d_out);
    read_statistics(d_out);
    const MatrixView packed_query = packable(query);
    if (memory_.query_a != nullptr) kernel_.pack_query(packed_query, memory_.query_a);
    if (memory_.query_b != nullptr) kernel_.pack_value(packed_query, memory_.query_b);
    const MatrixView packed_d_out = packable(d_out);
    if (memory_.d_out_a != nullptr) kernel_.pack_query(packed_d_out, memory_.d_out_a);
    if (memory_.d_out_b != nullptr) kernel_.pack_value(packed_d_out, memory_.d_out_b);
  }

 private:
  MatrixView rows_of(const TensorView& tensor) const {
    return head_rows(tensor, place_.b, place_.h, place_.rows);
  }

  bool is_empty(std::int64_t r) const { return lse_[r] == kInfinity<Real>; }

  void read_statistics(const MatrixView& d_out) {
    const BackwardInputs& inputs = *call_.inputs;
    const MatrixView out = rows_of(inputs.out);
    std::vector<Real> rows(static_cast<std::size_t>(2 * out.columns));
    for (std::int64_t r = 0; r < place_.rows.size(); ++r) {
      const std::int64_t q = place_.rows.begin + r;
      const Real lse =
          static_cast<Real>(read_real(inputs.lse, row_offset(inputs.lse, place_.b, place_.h, q)));
      has_empty_ = has_empty_ || lse == -kInfinity<Real>;
      lse_[r] = lse == -kInfinity<Real> ? kInfinity<Real> : lse;
      delta_[r] = is_empty(r) ? Real(0) : delta(out, d_out, r, rows) - d_lse(q);
    }
  }

  Real delta(const MatrixView& out, const MatrixView& d_out, std::int64_t r,
             std::vector<Real>& rows) const {
    Real* const out_row = rows.data();
    Real* const d_out_row = out_row + out.columns;
    read_row(out, r, out_row);
    read_row(d_out, r, d_out_row);
    double sum = 0;
    for (std::int64_t c = 0; c < out.columns; ++c)
      sum += static_cast<double>(out_row[c]) * static_cast<double>(d_out_row[c]);
    return static_cast<Real>(sum);
  }

  Real d_lse(std::int64_t q) const {
    const auto& d_lse = call_.inputs->d_lse;
    if (!d_lse) return Real(0);
    return static_cast<Real>(read_real(*d_lse, row_offset(*d_lse, place_.b, place_.h, q)));
  }

  /// The matrix itself where the kernel can pack it, else a copy in the compute type with zeros for
  /// rows that have no live pair.
  MatrixView packable(const MatrixView& matrix) {
    const bool is_source = (kernel_.sources >> static_cast<int>(matrix.type) & 1) != 0;
    if (is_source && !has_empty_) return matrix;
    for (std::int64_t r = 0; r < matrix.rows; ++r) {
      Real* const row = staged_ + r * matrix.columns;
      if (is_empty(r))
        std::fill_n(row, matrix.columns, Real(0));
      else
        read_row(matrix, r, row);
    }
    const void* data = staged_;
    if (kernel_.compute == DType::kBF16) data = narrowed(matrix.rows * matrix.columns);
    return {.data = data,
            .type = kernel_.compute,
            .rows = matrix.rows,
            .columns = matrix.columns,
            .row_stride = matrix.columns,
            .column_stride = 1};
  }

  const void* narrowed(std::int64_t count) const {
    auto* const to = reinterpret_cast<std::uint16_t*>(narrow_);
    for (std::int64_t i = 0; i < count; ++i) to[i] = float_to_bf16(static_cast<float>(staged_[i]));
    return to;
  }

  const BackwardCall& call_;
  const MicroKernel& kernel_;
  const BlockPlace& place_;
  const BlockMemory& memory_;
  Real* staged_;
  char* narrow_;
  Real* lse_;
  Real* delta_;
  bool has_empty_ = false;
};

template <class Real>
void store(const BackwardCall& call, const BackwardLayout& layout, const BlockPlace& place,
           const BlockMemory& memory) {
  const auto scale = static_cast<Real>(call.problem->scale_or_default());
  const HeadRows rows{
      .tensor = *call.outputs->d_query, .b = place.b, .h = place.h, .rows = place.rows};
  if (memory.d_query != nullptr)
    return store_rows(rows, reinterpret_cast<const Real*>(memory.d_query), layout.head_cols, scale);
  const std::vector<Real> zeros(static_cast<std::size_t>(layout.head_cols));
  store_rows(rows, zeros.data(), 0, scale);
}

}  // namespace

BlockMemory::BlockMemory(const BackwardLayout& layout, char* memory) {
  const auto take = [&memory](std::size_t bytes) {
    char* const begin = bytes == 0 ? nullptr : memory;
    memory += bytes;
    return begin;
  };
  query_a = take(layout.query_a);
  query_b = take(layout.query_b);
  d_out_a = take(layout.d_out_a);
  d_out_b = take(layout.d_out_b);
  lse = take(layout.statistic);
  delta = take(layout.statistic);
  d_query = take(layout.d_query);
}

void prepare_block(const BackwardCall& call, const BackwardLayout& layout, const BlockPlace& place,
                   const BlockMemory& memory, char* staging) {
  if (layout.real_bytes == 8)
    BlockPreparation<double>(call, layout, place, memory, staging).run();
  else
    BlockPreparation<float>(call, layout, place, memory, staging).run();
  if (memory.d_query != nullptr) std::memset(memory.d_query, 0, layout.d_query);
}

void store_d_query(const BackwardCall& call, const BackwardLayout& layout, const BlockPlace& place,
                   const BlockMemory& memory) {
  if (layout.real_bytes == 8)
    store<double>(call, layout, place, memory);
  else
    store<float>(call, layout, place, memory);
}

}  // namespace tilewright::cpu
