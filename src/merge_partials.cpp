#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "base/element.h"
#include "tilewright/engine.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::int64_t offset_of(const TensorView& view, const std::array<std::int64_t, 3>& index) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (view.shape[axis] != 1) offset += index[axis] * view.strides[axis];
  return offset;
}

[[noreturn]] void raise(std::string what, std::string where, std::string expected,
                        std::string got) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = std::move(what),
               .where = std::move(where),
               .expected = std::move(expected),
               .got = std::move(got),
               .hint = {}});
}

void require_tensor(const TensorView& view, const Dims& shape, const std::string& where) {
  if (!(view.shape == shape))
    raise("partial results have different shapes", where, to_string(shape), to_string(view.shape));
  if (view.dtype != DType::kF32 && view.dtype != DType::kF64)
    raise("partial results are fp32 or fp64", where, "f32 or f64", std::string(name(view.dtype)));
  if (view.device.kind != DeviceKind::kCpu)
    raise("partial results are merged on the CPU", where, "cpu", to_string(view.device));
}

void require_part(const ForwardOutputs& part, const Dims& out_shape, const char* name) {
  const std::string where = name;
  require_tensor(part.out, out_shape, where + ".out");
  if (!part.lse) raise("a partial result needs its lse", where + ".lse", "a tensor", "none");
  const Dims rows{out_shape[0], out_shape[1], out_shape[2]};
  require_tensor(*part.lse, rows, where + ".lse");
  if (part.max_scores) require_tensor(*part.max_scores, rows, where + ".max_scores");
}

/// Copies an element; bit for bit where the dtypes agree.
void copy_element(const TensorView& from, std::int64_t from_offset, const TensorView& to,
                  std::int64_t to_offset) {
  if (from.dtype != to.dtype) return write_real(to, to_offset, read_real(from, from_offset));
  const auto bytes = static_cast<std::int64_t>(size_bytes(to.dtype));
  std::memmove(static_cast<char*>(to.data) + to_offset * bytes,
               static_cast<const char*>(from.data) + from_offset * bytes,
               static_cast<std::size_t>(bytes));
}

std::int64_t column_stride(const TensorView& out) { return out.shape[3] == 1 ? 0 : out.strides[3]; }

void copy_row(const ForwardOutputs& from, const ForwardOutputs& into,
              const std::array<std::int64_t, 3>& index) {
  const std::int64_t from_begin = offset_of(from.out, index);
  const std::int64_t into_begin = offset_of(into.out, index);
  for (std::int64_t d = 0; d < into.out.shape[3]; ++d)
    copy_element(from.out, from_begin + d * column_stride(from.out), into.out,
                 into_begin + d * column_stride(into.out));
  copy_element(*from.lse, offset_of(*from.lse, index), *into.lse, offset_of(*into.lse, index));
}

/// Sum of the parts weighted by exp(lse - merged lse); a +inf lse makes the row NaN (R5).
void blend_row(const ForwardOutputs& a, const ForwardOutputs& b, const ForwardOutputs& into,
               const std::array<std::int64_t, 3>& index) {
  const double lse_a = read_real(*a.lse, offset_of(*a.lse, index));
  const double lse_b = read_real(*b.lse, offset_of(*b.lse, index));
  const double top = lse_a > lse_b ? lse_a : lse_b;
  const double lse = top == kInfinity
                         ? lse_a + lse_b
                         : top + std::log(std::exp(lse_a - top) + std::exp(lse_b - top));
  const double weight_a = std::exp(lse_a - lse);
  const double weight_b = std::exp(lse_b - lse);
  const std::int64_t a_begin = offset_of(a.out, index);
  const std::int64_t b_begin = offset_of(b.out, index);
  const std::int64_t into_begin = offset_of(into.out, index);
  for (std::int64_t d = 0; d < into.out.shape[3]; ++d) {
    const double merged = weight_a * read_real(a.out, a_begin + d * column_stride(a.out)) +
                          weight_b * read_real(b.out, b_begin + d * column_stride(b.out));
    write_real(into.out, into_begin + d * column_stride(into.out), merged);
  }
  write_real(*into.lse, offset_of(*into.lse, index), lse);
}

void merge_max_scores(const ForwardOutputs& a, const ForwardOutputs& b, const ForwardOutputs& into,
                      const std::array<std::int64_t, 3>& index) {
  const double max_a = read_real(*a.max_scores, offset_of(*a.max_scores, index));
  const double max_b = read_real(*b.max_scores, offset_of(*b.max_scores, index));
  const bool take_a = std::isnan(max_a) || max_a > max_b;
  write_real(*into.max_scores, offset_of(*into.max_scores, index), take_a ? max_a : max_b);
}

void merge_row(const ForwardOutputs& a, const ForwardOutputs& b, const ForwardOutputs& into,
               const std::array<std::int64_t, 3>& index) {
  if (into.max_scores) merge_max_scores(a, b, into, index);
  // An empty part is neutral: its out is never looked at.
  if (read_real(*b.lse, offset_of(*b.lse, index)) == -kInfinity) return copy_row(a, into, index);
  if (read_real(*a.lse, offset_of(*a.lse, index)) == -kInfinity) return copy_row(b, into, index);
  blend_row(a, b, into, index);
}

}  // namespace

void merge_partials(const ForwardOutputs& a, const ForwardOutputs& b, const ForwardOutputs& into) {
  if (into.out.rank() != 4)
    raise("out has another rank", "into.out", "[B, H, Q, Ev]", to_string(into.out.shape));
  require_part(a, into.out.shape, "a");
  require_part(b, into.out.shape, "b");
  require_part(into, into.out.shape, "into");
  if (into.max_scores && !(a.max_scores && b.max_scores))
    raise("merged max_scores need those of both parts", "max_scores", "in a and in b", "absent");
  const Dims& shape = into.out.shape;
  for (std::int64_t batch = 0; batch < shape[0]; ++batch)
    for (std::int64_t h = 0; h < shape[1]; ++h)
      for (std::int64_t q = 0; q < shape[2]; ++q) merge_row(a, b, into, {batch, h, q});
}

}  // namespace tilewright
