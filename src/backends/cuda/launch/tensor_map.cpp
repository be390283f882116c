#include "backends/cuda/launch/tensor_map.h"

#include <algorithm>

#include "tilewright/error.h"

namespace tilewright::cuda {

namespace {

constexpr std::int64_t kElementBytes = 2;
constexpr std::int64_t kUnitBytes = 16;
constexpr std::int64_t kStrideLimitBytes = std::int64_t{1} << 40;
constexpr std::int64_t kExtentLimit = (std::int64_t{1} << 31) - (1 << 10);
constexpr const char* kAxes[] = {"batch", "head", "row", "column"};

constexpr int kFloat16 = 6;     // CU_TENSOR_MAP_DATA_TYPE_FLOAT16
constexpr int kBFloat16 = 9;    // CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
constexpr int kSwizzle128 = 3;  // CU_TENSOR_MAP_SWIZZLE_128B
constexpr int kPromote128 = 2;  // CU_TENSOR_MAP_L2_PROMOTION_L2_128B

}  // namespace

std::string tensor_map_rejection(const TensorView& tensor, const char* name) {
  const auto subject = [name] { return std::string(name) + " "; };
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % kUnitBytes != 0)
    return subject() + "begins at an address that is no multiple of 16 bytes";
  if (tensor.shape[3] > 1 && tensor.strides[3] != 1)
    return subject() + "has column stride " + std::to_string(tensor.strides[3]) + ", not 1";
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (tensor.shape[axis] >= kExtentLimit)
      return subject() + "has " + std::to_string(tensor.shape[axis]) + " entries along its " +
             kAxes[axis] + " axis, too many for 32-bit coordinates";
    if (tensor.shape[axis] <= 1) continue;
    const std::int64_t bytes = tensor.strides[axis] * kElementBytes;
    if (bytes <= 0 || bytes % kUnitBytes != 0 || bytes >= kStrideLimitBytes)
      return subject() + "has " + kAxes[axis] + " stride " + std::to_string(tensor.strides[axis]) +
             ", no positive multiple of 8 elements";
  }
  return {};
}

void encode_tensor_map(const Driver& driver, const TensorView& tensor, std::uint32_t box_rows,
                       const char* name, TensorMap& map) {
  // Axes of extent 1 are never stepped along; their strides only have to be lawful.
  const auto extent = [&](std::size_t axis) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(tensor.shape[axis], 1));
  };
  const auto stride = [&](std::size_t axis) {
    const std::int64_t bytes = tensor.strides[axis] * kElementBytes;
    return static_cast<std::uint64_t>(tensor.shape[axis] > 1 ? bytes : kUnitBytes);
  };
  const std::uint64_t extents[] = {extent(3), extent(2), extent(1), extent(0)};
  const std::uint64_t strides[] = {stride(2), stride(1), stride(0)};
  const std::uint32_t box[] = {64, box_rows, 1, 1};
  const std::uint32_t steps[] = {1, 1, 1, 1};
  const int type = tensor.dtype == DType::kBF16 ? kBFloat16 : kFloat16;
  driver.check(driver.tensor_map(&map, type, 4, tensor.data, extents, strides, box, steps, 0,
                                 kSwizzle128, kPromote128, 0),
               "cuTensorMapEncodeTiled", name);
}

}  // namespace tilewright::cuda
