#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/cuda/launch/launch_site.h"
#include "backends/cuda/parameter_block.h"

namespace tilewright::cuda {

namespace params {

/// PyramidParams of mods/pyramid_build.cuh.
struct Pyramid {
  DeviceAddress table = 0;
  DeviceAddress cells = 0;
  std::int64_t lines = 0;
  std::int64_t extent = 0;
  std::int64_t stride = 0;
  std::int64_t line_extents[15] = {};
  std::int64_t line_strides[15] = {};
  std::int32_t line_axes = 0;
  std::int32_t dtype = 0;
  std::int32_t levels = 0;
  std::int32_t upper = 0;
};

}  // namespace params

/// The text that a source with pyramids ends with: a second kernel, `pyramid_kernel_name(kernel)`.
std::string pyramid_kernel_text(const std::string& kernel);
std::string pyramid_kernel_name(const std::string& kernel);

/// Bytes of workspace for a pyramid, a multiple of 256.
std::size_t pyramid_bytes(const PyramidShape& shape) noexcept;

/// Enqueues what builds a call's pyramids in its workspace, and says where they lie.
std::vector<PyramidBinding> build_pyramids(const LaunchSite& site, FunctionHandle function,
                                           std::span<const PyramidRequest> requests);

}  // namespace tilewright::cuda
