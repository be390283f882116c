#pragma once

#include "device/gpu_fixture.h"

namespace tilewright::device_tests {

/// A tensor [B, ..., D] on the first GPU that no host has memory for: entries of its batch are
/// written and read one by one, and what nobody wrote is whatever lies there.
class FarTensor {
 public:
  /// D lies together.
  FarTensor(DType dtype, const Dims& shape, const Dims& strides);
  FarTensor(DType dtype, const Dims& shape);  ///< all of it lies together
  ~FarTensor();
  FarTensor(const FarTensor&) = delete;
  FarTensor& operator=(const FarTensor&) = delete;

  /// False where the GPU has no memory for it.
  bool allocated() const { return base_ != 0; }
  const TensorView& view() const { return view_; }
  /// `entry` is contiguous, [1, ..., D].
  void write(std::int64_t batch, const cases::Tensor& entry) const { copy(batch, entry, true); }
  void read(std::int64_t batch, const cases::Tensor& entry) const { copy(batch, entry, false); }

 private:
  void copy(std::int64_t batch, const cases::Tensor& entry, bool to_device) const;

  cuda::Gpu& gpu_;
  cuda::DeviceAddress base_ = 0;
  TensorView view_;
};

/// The strides of [B, H, rows, D] (or [B, H, rows]) whose rows lie so far apart that the last
/// starts past 2^31 elements.
Dims far_row_strides(const Dims& shape);

}  // namespace tilewright::device_tests
