#include "backends/reference/capture_sums.h"

#include "base/element.h"

namespace tilewright::reference {

CaptureSum::CaptureSum(const Dims& shape)
    : shape_(shape),
      strides_(contiguous_strides(shape)),
      sums_(static_cast<std::size_t>(element_count(shape))) {}

void CaptureSum::add(const Dims& index, double value) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * strides_[axis];
  sums_[static_cast<std::size_t>(offset)] += value;
}

void CaptureSum::store(const TensorView& gradient) const {
  for (std::size_t element = 0; element < sums_.size(); ++element) {
    std::int64_t rest = static_cast<std::int64_t>(element);
    std::int64_t offset = 0;
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      if (shape_[axis] != 1) offset += rest % shape_[axis] * gradient.strides[axis];
      rest /= shape_[axis];
    }
    write_real(gradient, offset, sums_[element]);
  }
}

}  // namespace tilewright::reference
