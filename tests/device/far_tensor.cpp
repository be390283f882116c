#include "device/far_tensor.h"

namespace tilewright::device_tests {

namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 31;

std::int64_t last_offset(const TensorView& view) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < view.rank(); ++axis)
    last += (view.shape[axis] - 1) * view.strides[axis];
  return last;
}

}  // namespace

FarTensor::FarTensor(DType dtype, const Dims& shape, const Dims& strides)
    : gpu_(*machine().gpus.front()), view_(contiguous(nullptr, dtype, shape)) {
  view_.strides = strides;
  view_.device = {DeviceKind::kCuda, 0};
  const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
  const std::size_t words =
      static_cast<std::size_t>(last_offset(view_) + 1) * size_bytes(dtype) / 4 + 1;
  if (gpu_.driver().allocate(&base_, words * 4) != 0) {
    base_ = 0;
    return;
  }
  gpu_.driver().check(gpu_.driver().set_words(base_, 0xffffffffu, words), "cuMemsetD32",
                      "a far tensor");
  view_.data = reinterpret_cast<void*>(base_);
}

FarTensor::FarTensor(DType dtype, const Dims& shape)
    : FarTensor(dtype, shape, contiguous_strides(shape)) {}

FarTensor::~FarTensor() {
  if (!allocated()) return;
  const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
  gpu_.driver().deallocate(base_);
}

void FarTensor::copy(std::int64_t batch, const cases::Tensor& entry, bool to_device) const {
  const cuda::ContextScope scope(gpu_.driver(), gpu_.context());
  const std::size_t element = size_bytes(view_.dtype);
  Dims rows = entry.shape();
  const std::size_t row_bytes = static_cast<std::size_t>(rows[rows.size() - 1]) * element;
  rows[rows.size() - 1] = 1;
  cases::for_each_index(rows, [&](const Dims& at) {
    Dims whole = at;
    whole[0] = batch;
    std::byte* const here = entry.bytes().data() +
                            static_cast<std::size_t>(cases::offset_of(entry.view(), at)) * element;
    const cuda::DeviceAddress there =
        base_ + static_cast<cuda::DeviceAddress>(cases::offset_of(view_, whole)) * element;
    const int status = to_device ? gpu_.driver().copy_to_device(there, here, row_bytes)
                                 : gpu_.driver().copy_to_host(here, there, row_bytes);
    gpu_.driver().check(status, "cuMemcpy", "a row of a far tensor");
  });
}

Dims far_row_strides(const Dims& shape) {
  Dims strides = contiguous_strides(shape);
  const std::int64_t rows = shape[2];
  strides[2] = (kFar / (rows - 1) / 64 + 1) * 64;
  strides[1] = strides[2] * rows;
  strides[0] = strides[1] * shape[1];
  return strides;
}

}  // namespace tilewright::device_tests
