#include "tilewright/tensor.h"

#include <algorithm>

#include "tilewright/error.h"

namespace tilewright {

namespace {

void require_rank(std::size_t count) {
  if (count <= Dims::kMaxRank) return;
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "a tensor has too many axes",
               .where = {},
               .expected = "rank <= " + std::to_string(Dims::kMaxRank),
               .got = "rank " + std::to_string(count),
               .hint = "fold axes that are never subscripted apart"});
}

}  // namespace

Dims::Dims(std::initializer_list<std::int64_t> values) : Dims(values.begin(), values.size()) {}

Dims::Dims(const std::int64_t* values, std::size_t count) : size_(count) {
  require_rank(count);
  std::copy_n(values, count, values_.begin());
}

void Dims::push_back(std::int64_t value) {
  require_rank(size_ + 1);
  values_[size_++] = value;
}

bool Dims::operator==(const Dims& other) const noexcept {
  return std::equal(begin(), end(), other.begin(), other.end());
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides = shape;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

TensorView contiguous(void* data, DType dtype, const Dims& shape) {
  return {.data = data,
          .dtype = dtype,
          .shape = shape,
          .strides = contiguous_strides(shape),
          .device = {}};
}

std::int64_t element_count(const Dims& shape) noexcept {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) count *= extent;
  return count;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

std::string to_string(Device device) {
  if (device.kind == DeviceKind::kCpu) return "cpu";
  return "cuda:" + std::to_string(device.ordinal);
}

}  // namespace tilewright
