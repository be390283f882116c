#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tilewright/dtype.h"

#pragma GCC visibility push(default)

namespace tilewright {

/// A short list of extents or strides, stored inline so that a call allocates nothing.
class Dims {
 public:
  static constexpr std::size_t kMaxRank = 16;

  Dims() = default;
  /// Throws Error for more than kMaxRank entries.
  Dims(std::initializer_list<std::int64_t> values);
  Dims(const std::int64_t* values, std::size_t count);

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  std::int64_t& operator[](std::size_t i) noexcept { return values_[i]; }
  const std::int64_t* begin() const noexcept { return values_.data(); }
  const std::int64_t* end() const noexcept { return values_.data() + size_; }
  const std::int64_t* data() const noexcept { return values_.data(); }
  void push_back(std::int64_t value);
  bool operator==(const Dims& other) const noexcept;

 private:
  std::array<std::int64_t, kMaxRank> values_{};
  std::size_t size_ = 0;
};

/// Where memory lives. Device ordinals count from 0 within a kind.
enum class DeviceKind : std::uint8_t { kCpu = 0, kCuda = 1 };

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int ordinal = 0;
  bool operator==(const Device&) const = default;
};

/// A tensor that somebody else owns. Strides count elements, may be 0 or negative, and are ignored
/// on axes of extent 1.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  Dims shape;
  Dims strides;
  Device device;

  std::size_t rank() const noexcept { return shape.size(); }
};

/// Row-major strides for a shape.
Dims contiguous_strides(const Dims& shape);

/// A contiguous view on CPU memory. `data` may be null only where the element count is 0.
TensorView contiguous(void* data, DType dtype, const Dims& shape);

/// Number of elements; 1 for rank 0.
std::int64_t element_count(const Dims& shape) noexcept;

/// "[2, 8, 128, 64]"
std::string to_string(const Dims& dims);
std::string to_string(Device device);

}  // namespace tilewright

#pragma GCC visibility pop
