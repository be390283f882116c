#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/tensor.h"

namespace tilewright::reference {

/// The gradient of one captured tensor while it is summed, in fp64 whatever the tensor's dtype.
class CaptureSum {
 public:
  CaptureSum() = default;
  explicit CaptureSum(const Dims& shape);

  void add(const Dims& index, double value);
  /// Rounds every element into `gradient`, which has the same shape.
  void store(const TensorView& gradient) const;

 private:
  Dims shape_;
  Dims strides_;
  std::vector<double> sums_;
};

}  // namespace tilewright::reference
