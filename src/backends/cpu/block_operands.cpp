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
        diagonal_key_(narrow_ + layout.staging),
        diagonal_score_(reinterpret_cast<Real*>(diagonal_key_ + layout.diagonal_key)),
        lse_(reinterpret_cast<Real*>(memory.lse)),
        delta_(reinterpret_cast<Real*>(memory.delta)) {}

  void run() {
    const BackwardInputs& inputs = *call_.inputs;
    read_lse();
    const MatrixView query = packable(rows_of(inputs.query));
    if (memory_.query_a != nullptr) kernel_.pack_query(query, memory_.query_a);
    if (memory_.query_b != nullptr) kernel_.pack_value(query, memory_.query_b);
    const MatrixView d_out = packable(rows_of(inputs.d_out));
    if (memory_.d_out_a != nullptr) kernel_.pack_query(d_out, memory_.d_out_a);
    if (memory_.d_out_b != nullptr) kernel_.pack_value(d_out, memory_.d_out_b);
    if (memory_.d_out_a == nullptr) return;
    if (is_source(inputs.out.dtype))
      multiply_with_out();
    else
      add_up_with_out();
    subtract_d_lse();
  }

 private:
  MatrixView rows_of(const TensorView& tensor) const {
    return head_rows(tensor, place_.b, place_.h, place_.rows);
  }

  bool is_source(DType type) const { return (kernel_.sources >> static_cast<int>(type) & 1) != 0; }
  bool is_empty(std::int64_t r) const { return lse_[r] == kInfinity<Real>; }

  void read_lse() {
    const TensorView& tensor = call_.inputs->lse;
    for (std::int64_t r = 0; r < place_.rows.size(); ++r) {
      const std::int64_t offset = row_offset(tensor, place_.b, place_.h, place_.rows.begin + r);
      const Real lse = static_cast<Real>(read_real(tensor, offset));
      has_empty_ = has_empty_ || lse == -kInfinity<Real>;
      lse_[r] = lse == -kInfinity<Real> ? kInfinity<Real> : lse;
    }
  }

  /// <d_out, out> by the product that makes dP: where a row sees one key alone, out is its value
  /// and dP - delta exactly 0.
  void multiply_with_out() {
    const MatrixView out = packable(rows_of(call_.inputs->out));
    const std::int64_t side = kernel_.column_multiple;
    const std::int64_t row_bytes = packed_query_row_bytes(kernel_, out.columns);
    const auto element_bytes = static_cast<std::int64_t>(size_bytes(out.type));
    for (std::int64_t first = 0; first < out.rows; first += side) {
      MatrixView part = out;
      part.data = static_cast<const char*>(out.data) + first * out.row_stride * element_bytes;
      part.rows = std::min(side, out.rows - first);
      kernel_.pack_key(part, diagonal_key_);
      kernel_.score_tile({.query = memory_.d_out_a + first * row_bytes,
                          .key = diagonal_key_,
                          .score = diagonal_score_,
                          .score_stride = side,
                          .rows = part.rows,
                          .kv = part.rows,
                          .depth = out.columns});
      for (std::int64_t r = 0; r < part.rows; ++r)
        delta_[first + r] = diagonal_score_[r * side + r];
    }
  }

  /// The same for an out that the kernel would have to round.
  void add_up_with_out() {
    const MatrixView out = rows_of(call_.inputs->out);
    const MatrixView d_out = rows_of(call_.inputs->d_out);
    std::vector<Real> rows(static_cast<std::size_t>(2 * out.columns));
    for (std::int64_t r = 0; r < out.rows; ++r)
      delta_[r] = is_empty(r) ? Real(0) : row_product(out, d_out, r, rows);
  }

  static Real row_product(const MatrixView& out, const MatrixView& d_out, std::int64_t r,
                          std::vector<Real>& rows) {
    Real* const out_row = rows.data();
    Real* const d_out_row = out_row + out.columns;
    read_row(out, r, out_row);
    read_row(d_out, r, d_out_row);
    double sum = 0;
    for (std::int64_t c = 0; c < out.columns; ++c)
      sum += static_cast<double>(out_row[c]) * static_cast<double>(d_out_row[c]);
    return static_cast<Real>(sum);
  }

  void subtract_d_lse() {
    const auto& d_lse = call_.inputs->d_lse;
    for (std::int64_t r = 0; d_lse && r < place_.rows.size(); ++r) {
      if (is_empty(r)) continue;
      const std::int64_t offset = row_offset(*d_lse, place_.b, place_.h, place_.rows.begin + r);
      delta_[r] -= static_cast<Real>(read_real(*d_lse, offset));
    }
  }

  /// The matrix itself where the kernel can pack it, else a copy in the compute type with zeros for
  /// rows that have no live pair.
  MatrixView packable(const MatrixView& matrix) {
    if (is_source(matrix.type) && !has_empty_) return matrix;
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
  char* diagonal_key_;
  Real* diagonal_score_;
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
