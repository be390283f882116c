#pragma once

#include <cstdint>
#include <string>

namespace tilewright::cuda {

/// What kernels are chosen and compiled by: one device as the driver describes it. Plain data, so
/// that every choice can be made and tested without a device.
struct DeviceFacts {
  int ordinal = 0;
  std::string name;  ///< "NVIDIA H200"
  int major = 9;     ///< compute capability
  int minor = 0;
  int multiprocessors = 132;
  std::int64_t block_shared_bytes = 227 * 1024;  ///< most a block may opt in to
  std::int64_t multiprocessor_shared_bytes = 228 * 1024;

  int capability() const noexcept { return 10 * major + minor; }
};

}  // namespace tilewright::cuda
