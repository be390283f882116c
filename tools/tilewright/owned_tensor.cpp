#include "owned_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <optional>

#include "base/element.h"
#include "io/tensor_bytes.h"
#include "tilewright/error.h"

namespace tilewright::cli {

namespace {

constexpr std::size_t kAlignment = 64;

std::shared_ptr<void> zeroed(std::int64_t bytes) {
  const auto size = (static_cast<std::size_t>(bytes) + kAlignment) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, size);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, size);
  return {memory, std::free};
}

[[noreturn]] void raise_impossible(const Dims& shape, const char* expected) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "no tensor can have this shape and these strides",
               .where = to_string(shape),
               .expected = expected,
               .got = {},
               .hint = {}});
}

std::int64_t bytes_of(DType dtype, const Dims& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 46;
  const std::optional<std::int64_t> bytes = io::checked_size_bytes(shape, dtype);
  if (bytes && *bytes <= kMost) return *bytes;
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "a tensor of this shape does not fit into memory",
               .where = to_string(shape),
               .expected = {},
               .got = {},
               .hint = {}});
}

/// SplitMix64 and Box-Muller: unlike the standard library's distributions, fixed for every machine.
class NormalStream {
 public:
  explicit NormalStream(std::uint64_t seed) : state_(seed) {}
  double next() {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    return radius * std::cos(kTwoPi * unit());
  }

 private:
  double unit() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  std::uint64_t state_;
};

}  // namespace

OwnedTensor make_tensor(DType dtype, const Dims& shape) {
  OwnedTensor tensor;
  tensor.memory = zeroed(bytes_of(dtype, shape));
  tensor.view = contiguous(tensor.memory.get(), dtype, shape);
  return tensor;
}

OwnedTensor make_strided_tensor(DType dtype, const Dims& shape, const Dims& strides) {
  if (strides.size() != shape.size()) raise_impossible(shape, "one stride an axis");
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::int64_t reach = 0;
    std::int64_t& end = strides[axis] < 0 ? low : high;
    const std::int64_t steps = std::max<std::int64_t>(shape[axis] - 1, 0);
    if (__builtin_mul_overflow(steps, strides[axis], &reach) ||
        __builtin_add_overflow(end, reach, &end))
      raise_impossible(shape, "offsets that 64 bits hold");
  }
  std::int64_t span = 0;
  if (__builtin_sub_overflow(high, low, &span) || span == std::numeric_limits<std::int64_t>::max())
    raise_impossible(shape, "offsets that 64 bits hold");
  OwnedTensor tensor = make_tensor(dtype, {span + 1});
  auto* first = static_cast<std::byte*>(tensor.memory.get());
  tensor.view.data = first - low * static_cast<std::int64_t>(size_bytes(dtype));
  tensor.view.shape = shape;
  tensor.view.strides = strides;
  return tensor;
}

std::int64_t strided_offset(const TensorView& view, std::int64_t flat) {
  std::int64_t offset = 0;
  for (std::size_t axis = view.rank(); axis-- > 0;) {
    offset += flat % view.shape[axis] * view.strides[axis];
    flat /= view.shape[axis];
  }
  return offset;
}

OwnedTensor converted(const TensorView& source, DType dtype) {
  OwnedTensor copy = make_tensor(dtype, source.shape);
  const std::int64_t count = element_count(source.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    write_real(copy.view, i, read_real(source, strided_offset(source, i)));
  }
  return copy;
}

void copy_elements(const TensorView& source, const TensorView& target) {
  const auto width = static_cast<std::int64_t>(size_bytes(source.dtype));
  const std::int64_t count = element_count(source.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<std::byte*>(target.data) + strided_offset(target, i) * width,
                static_cast<const std::byte*>(source.data) + strided_offset(source, i) * width,
                static_cast<std::size_t>(width));
  }
}

void fill_normal(const TensorView& view, std::uint64_t seed) {
  NormalStream stream(seed);
  const std::int64_t count = element_count(view.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    write_real(view, strided_offset(view, i), stream.next());
  }
}

TensorView sliced(const TensorView& view, std::size_t axis, std::int64_t begin, std::int64_t end) {
  TensorView part = view;
  const std::int64_t skipped =
      begin * view.strides[axis] * static_cast<std::int64_t>(size_bytes(view.dtype));
  part.data = static_cast<std::byte*>(view.data) + skipped;
  part.shape[axis] = end - begin;
  return part;
}

}  // namespace tilewright::cli
