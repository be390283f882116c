#include "backends/cpu/finish_rows.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/element.h"
#include "base/half.h"

namespace tilewright::cpu {

namespace {

template <class Real>
struct Row {
  const Real* out;
  Real max;
  Real shift;
  Real sum;
};

template <class Real>
Row<Real> row_of(const ForwardLayout& layout, const RowState& state, std::int64_t r) {
  return {static_cast<const Real*>(state.out) + r * layout.out_cols,
          static_cast<const Real*>(state.max)[r], static_cast<const Real*>(state.shift)[r],
          static_cast<const Real*>(state.sum)[r]};
}

template <class Real>
Real lse_of(const Row<Real>& row) {
  constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
  if (row.max == kInfinity) return kInfinity;
  if (row.max == -kInfinity && row.sum == 0) return -kInfinity;
  return row.shift + std::log(row.sum);
}

/// A NaN score reaches the sum but not the maximum, which is kept by comparisons.
template <class Real>
Real max_of(const Row<Real>& row) {
  const bool spoiled = row.sum != row.sum && row.max != std::numeric_limits<Real>::infinity();
  return spoiled ? row.sum : row.max;
}

std::int64_t stride_of(const TensorView& tensor, std::size_t axis) {
  return tensor.shape[axis] == 1 ? 0 : tensor.strides[axis];
}

std::int64_t row_offset(const TensorView& tensor, std::int64_t b, std::int64_t h, std::int64_t q) {
  return b * stride_of(tensor, 0) + h * stride_of(tensor, 1) + q * stride_of(tensor, 2);
}

template <class Stored, class Convert>
void store(void* data, std::int64_t offset, std::int64_t count, Convert convert) {
  Stored* const to = static_cast<Stored*>(data) + offset;
  for (std::int64_t i = 0; i < count; ++i) to[i] = convert(i);
}

template <class Real>
void write_out(const TensorView& out, std::int64_t offset, const Row<Real>& row) {
  const std::int64_t count = out.shape[3];
  // An empty row has sum 0 and output 0: dividing by 1 keeps it exactly 0.
  const Real inverse = row.sum == 0 ? Real(1) : Real(1) / row.sum;
  if (count > 1 && out.strides[3] != 1) {
    for (std::int64_t i = 0; i < count; ++i)
      write_real(out, offset + i * out.strides[3], static_cast<double>(row.out[i] * inverse));
    return;
  }
  switch (out.dtype) {
    case DType::kF64:
      return store<double>(out.data, offset, count,
                           [&](auto i) { return double(row.out[i] * inverse); });
    case DType::kF32:
      return store<float>(out.data, offset, count,
                          [&](auto i) { return float(row.out[i] * inverse); });
    case DType::kBF16:
      return store<std::uint16_t>(out.data, offset, count, [&](auto i) {
        return float_to_bf16(float(row.out[i] * inverse));
      });
    default:
      return store<std::uint16_t>(out.data, offset, count, [&](auto i) {
        return float_to_f16(float(row.out[i] * inverse));
      });
  }
}

/// Whether the kernel can write the rows of O itself.
bool stores_rows(const ForwardCall& call) {
  const TensorView& out = call.outputs->out;
  return call.kernel->store_rows != nullptr && (out.shape[3] == 1 || out.strides[3] == 1);
}

/// Turns the sums into factors of O, which nobody needs as sums any more.
void store_by_kernel(const ForwardCall& call, const ForwardLayout& layout, const WorkItem& item,
                     const RowState& state) {
  const TensorView& out = call.outputs->out;
  auto* const factors = static_cast<float*>(state.sum);
  for (std::int64_t r = 0; r < item.rows(); ++r)
    factors[r] = factors[r] == 0 ? 1.0F : 1.0F / factors[r];
  const auto* const rows = static_cast<const float*>(state.out);
  for (std::int64_t i = 0; i < item.heads; ++i) {
    const std::int64_t first = i * item.q_rows;
    const std::int64_t offset = row_offset(out, item.b, item.h + i, item.q_begin);
    call.kernel->store_rows({.output = rows + first * layout.out_cols,
                             .output_stride = layout.out_cols,
                             .row_factor = factors + first,
                             .target = static_cast<char*>(out.data) +
                                       offset * static_cast<std::int64_t>(size_bytes(out.dtype)),
                             .type = out.dtype,
                             .target_stride = stride_of(out, 2),
                             .rows = item.q_rows,
                             .columns = out.shape[3]});
  }
}

template <class Real>
void finish(const ForwardCall& call, const ForwardLayout& layout, const WorkItem& item,
            const RowState& state) {
  const ForwardOutputs& outputs = *call.outputs;
  const bool by_kernel = stores_rows(call);
  for (std::int64_t r = 0; r < item.rows(); ++r) {
    const std::int64_t h = item.h + r / item.q_rows;
    const std::int64_t q = item.q_begin + r % item.q_rows;
    const Row<Real> row = row_of<Real>(layout, state, r);
    if (!by_kernel) write_out(outputs.out, row_offset(outputs.out, item.b, h, q), row);
    if (outputs.lse)
      write_real(*outputs.lse, row_offset(*outputs.lse, item.b, h, q),
                 static_cast<double>(lse_of(row)));
    if (outputs.max_scores)
      write_real(*outputs.max_scores, row_offset(*outputs.max_scores, item.b, h, q),
                 static_cast<double>(max_of(row)));
  }
  if (by_kernel) store_by_kernel(call, layout, item, state);
}

/// exp(from - to), 0 for a part that has no live pair.
template <class Real>
Real factor(Real from, Real to) {
  return from == -std::numeric_limits<Real>::infinity() ? Real(0) : std::exp(from - to);
}

template <class Real>
void merge(const ForwardCall& call, const ForwardLayout& layout, std::int64_t rows,
           const RowState& part, const RowState& into) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const Row<Real> row = row_of<Real>(layout, part, r);
    Real& shift = static_cast<Real*>(into.shift)[r];
    Real& sum = static_cast<Real*>(into.sum)[r];
    Real& max = static_cast<Real*>(into.max)[r];
    // An empty part leaves the other exactly as it was (R5); a NaN sum is not empty.
    if (row.sum == 0 && row.max == -std::numeric_limits<Real>::infinity()) continue;
    const Real joined = row.shift > shift ? row.shift : shift;
    const Real keep = factor(shift, joined);
    const Real add = factor(row.shift, joined);
    Real* const out = static_cast<Real*>(into.out) + r * layout.out_cols;
    for (std::int64_t c = 0; c < call.problem->value_dim; ++c)
      out[c] = out[c] * keep + row.out[c] * add;
    sum = sum * keep + row.sum * add;
    max = row.max > max ? row.max : max;
    shift = joined;
  }
}

}  // namespace

void finish_rows(const ForwardCall& call, const ForwardLayout& layout, const WorkItem& item,
                 const RowState& state) {
  if (layout.real_bytes == 8)
    finish<double>(call, layout, item, state);
  else
    finish<float>(call, layout, item, state);
}

RowState partial_state(const ForwardLayout& layout, char* slot) {
  char* const statistics = slot + layout.out_bytes;
  return {slot, statistics, statistics + layout.statistics_bytes,
          statistics + 2 * layout.statistics_bytes};
}

void store_partial(const ForwardLayout& layout, std::int64_t rows, const RowState& from,
                   const RowState& to) {
  const auto row_bytes = static_cast<std::size_t>(rows * layout.real_bytes);
  std::memcpy(to.out, from.out, static_cast<std::size_t>(layout.out_cols) * row_bytes);
  std::memcpy(to.max, from.max, row_bytes);
  std::memcpy(to.shift, from.shift, row_bytes);
  std::memcpy(to.sum, from.sum, row_bytes);
}

void merge_partial(const ForwardCall& call, const ForwardLayout& layout, std::int64_t rows,
                   const RowState& part, const RowState& into) {
  if (layout.real_bytes == 8)
    merge<double>(call, layout, rows, part, into);
  else
    merge<float>(call, layout, rows, part, into);
}

}  // namespace tilewright::cpu
