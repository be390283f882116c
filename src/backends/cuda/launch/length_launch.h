#pragma once

#include <string>

#include "backends/cuda/launch/forward_params.h"
#include "backends/cuda/launch/launch_site.h"

namespace tilewright::cuda {

namespace params {

/// LengthMapParams of attention/length_maps.cuh.
struct LengthMaps {
  TensorMap all;
  DeviceAddress maps = 0;
  KeyLengths lengths;
  std::int32_t kv_rows = 0;
  std::int32_t sharing = 1;
};

}  // namespace params

/// The text that the source of a row that reads lengths ends with: a kernel that makes tensor maps
/// of the values (backward: of the keys), one a batch.
std::string length_maps_kernel_text(const std::string& kernel);
std::string length_maps_kernel_name(const std::string& kernel);

/// The call's table of key lengths; none where it brings none.
params::KeyLengths key_lengths(const LaunchSite& site);

/// Enqueues what makes the maps in workspace, 128 bytes a batch, and says where they lie.
DeviceAddress build_value_maps(const LaunchSite& site, FunctionHandle function,
                               const params::Hopper& forward);

}  // namespace tilewright::cuda
