#include "support/tensor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/check.h"
#include "base/element.h"

namespace tilewright::cases {

namespace {

constexpr std::byte kPoison{0xff};

std::shared_ptr<std::byte> heap_buffer(std::size_t bytes) {
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + 63) / 64 * 64;
  auto* memory = static_cast<std::byte*>(::operator new(rounded, std::align_val_t{64}));
  std::memset(memory, 0xff, rounded);
  return {memory, [](std::byte* p) { ::operator delete(p, std::align_val_t{64}); }};
}

/// A buffer that touches a page without access on the asked side.
std::shared_ptr<std::byte> guarded_buffer(std::size_t bytes, Placement placement) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t body = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
  const std::size_t total = body + 2 * page;
  void* map = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TILEWRIGHT_CHECK(map != MAP_FAILED);
  auto* base = static_cast<std::byte*>(map);
  std::memset(base, 0xff, total);
  ::mprotect(base, page, PROT_NONE);
  ::mprotect(base + page + body, page, PROT_NONE);
  std::byte* begin =
      placement == Placement::kGuardBefore ? base + page : base + page + body - bytes;
  return {begin, [map, total](std::byte*) { ::munmap(map, total); }};
}

void write_element(const TensorView& view, std::int64_t offset, double value) {
  if (is_floating(view.dtype)) return write_real(view, offset, value);
  const auto integer = static_cast<std::int64_t>(value);
  const auto bytes = static_cast<std::int64_t>(size_bytes(view.dtype));
  // Little endian: the low bytes are the narrower integer.
  std::memcpy(static_cast<char*>(view.data) + offset * bytes, &integer,
              static_cast<std::size_t>(bytes));
}

/// The storage of a layout: the extents of the buffer in memory order, and for each axis of the
/// tensor its place there.
struct Storage {
  Dims extents;
  Dims axis_at;  ///< axis_at[m] is the tensor's axis at memory position m
  std::int64_t inner_step = 1;
};

bool expanded(const TensorSpec& spec, std::size_t axis) {
  return spec.layout == Layout::kExpanded && axis + 2 < spec.shape.size();
}

std::int64_t stored_extent(const TensorSpec& spec, std::size_t axis) {
  const std::int64_t extent = spec.shape[axis];
  const bool innermost = axis + 1 == spec.shape.size();
  if (expanded(spec, axis)) return std::min<std::int64_t>(extent, 1);
  if (spec.layout == Layout::kSliced) return extent + (innermost ? 5 : 2);
  if (spec.layout == Layout::kInnerStrided && innermost) return 3 * extent;
  return extent;
}

Storage storage_of(const TensorSpec& spec) {
  Storage storage;
  const std::size_t rank = spec.shape.size();
  for (std::size_t m = 0; m < rank; ++m) storage.axis_at.push_back(static_cast<std::int64_t>(m));
  if (spec.layout == Layout::kTransposed && rank >= 3)
    std::swap(storage.axis_at[1], storage.axis_at[2]);
  for (std::size_t m = 0; m < rank; ++m)
    storage.extents.push_back(stored_extent(spec, static_cast<std::size_t>(storage.axis_at[m])));
  if (spec.layout == Layout::kInnerStrided) storage.inner_step = 3;
  return storage;
}

bool runs_backwards(const TensorSpec& spec, std::size_t axis) {
  const bool innermost = axis + 1 == spec.shape.size();
  return (spec.layout == Layout::kInnerNegative && innermost) ||
         (spec.layout == Layout::kNegative && !innermost);
}

/// Strides of the tensor's axes, and the element that index 0 starts at.
std::int64_t lay_out(const TensorSpec& spec, const Storage& storage, Dims& strides) {
  const Dims memory_strides = contiguous_strides(storage.extents);
  strides = spec.shape;
  std::int64_t origin = 0;
  for (std::size_t m = 0; m < spec.shape.size(); ++m) {
    const auto axis = static_cast<std::size_t>(storage.axis_at[m]);
    const bool innermost = axis + 1 == spec.shape.size();
    strides[axis] = memory_strides[m] * (innermost ? storage.inner_step : 1);
    if (spec.layout == Layout::kSliced) origin += strides[axis] * (innermost ? 3 : 1);
    if (expanded(spec, axis)) strides[axis] = 0;
    if (!runs_backwards(spec, axis) || spec.shape[axis] == 0) continue;
    origin += strides[axis] * (spec.shape[axis] - 1);
    strides[axis] = -strides[axis];
  }
  return origin;
}

}  // namespace

std::string_view name(Layout layout) {
  constexpr std::array<std::string_view, 7> kNames = {
      "contiguous", "transposed", "expanded", "sliced", "strided", "reversed", "negative"};
  return kNames[static_cast<std::size_t>(layout)];
}

Tensor::Tensor(const TensorSpec& spec) {
  const Storage storage = storage_of(spec);
  Dims strides;
  const std::int64_t origin = lay_out(spec, storage, strides);
  const std::size_t element_bytes = size_bytes(spec.dtype);
  buffer_bytes_ = static_cast<std::size_t>(element_count(storage.extents)) * element_bytes;
  buffer_ = spec.placement == Placement::kHeap ? heap_buffer(buffer_bytes_)
                                               : guarded_buffer(buffer_bytes_, spec.placement);
  view_ = {.data = buffer_.get() + static_cast<std::size_t>(origin) * element_bytes,
           .dtype = spec.dtype,
           .shape = spec.shape,
           .strides = strides,
           .device = {}};
}

void Tensor::set(const Dims& index, double value) {
  write_element(view_, offset_of(view_, index), value);
}

Tensor& Tensor::fill(const std::function<double(const Dims&)>& value) {
  for_each_index(view_.shape, [&](const Dims& index) { set(index, value(index)); });
  return *this;
}

Tensor& Tensor::fill(double value) {
  return fill([value](const Dims&) { return value; });
}

Tensor& Tensor::fill_normal(Random& random, double deviation) {
  return fill([&](const Dims&) { return deviation * random.normal(); });
}

Tensor& Tensor::fill_between(Random& random, std::int64_t low, std::int64_t high) {
  return fill([&](const Dims&) { return static_cast<double>(random.between(low, high)); });
}

bool Tensor::padding_intact() const {
  const auto element_bytes = static_cast<std::int64_t>(size_bytes(view_.dtype));
  std::vector<bool> element(buffer_bytes_, false);
  const auto origin = static_cast<const std::byte*>(view_.data) - buffer_.get();
  for_each_index(view_.shape, [&](const Dims& index) {
    const std::int64_t begin = origin + offset_of(view_, index) * element_bytes;
    std::fill_n(element.begin() + begin, element_bytes, true);
  });
  for (std::size_t i = 0; i < buffer_bytes_; ++i)
    if (!element[i] && buffer_.get()[i] != kPoison) return false;
  return true;
}

double Tensor::value_at(const TensorView& view, const Dims& index) {
  const std::int64_t offset = offset_of(view, index);
  return is_floating(view.dtype) ? read_real(view, offset)
                                 : static_cast<double>(read_integer(view, offset));
}

void for_each_index(const Dims& shape, const std::function<void(const Dims&)>& visit) {
  if (element_count(shape) == 0) return;
  Dims index = shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) index[axis] = 0;
  while (true) {
    visit(index);
    std::size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

std::int64_t offset_of(const TensorView& view, const Dims& index) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < view.rank(); ++axis)
    if (view.shape[axis] != 1) offset += index[axis] * view.strides[axis];
  return offset;
}

TensorView slice(const TensorView& view, std::size_t axis, std::int64_t begin, std::int64_t end) {
  TensorView part = view;
  part.shape[axis] = end - begin;
  part.data = static_cast<std::byte*>(view.data) +
              begin * view.strides[axis] * static_cast<std::int64_t>(size_bytes(view.dtype));
  return part;
}

TensorView expand(const TensorView& view, std::size_t axis, std::int64_t extent) {
  TensorView wide = view;
  wide.shape[axis] = extent;
  wide.strides[axis] = 0;
  return wide;
}

Tensor copy_as(const TensorView& view, DType dtype) {
  Tensor copy(dtype, view.shape);
  copy.fill([&](const Dims& index) { return Tensor::value_at(view, index); });
  return copy;
}

}  // namespace tilewright::cases
