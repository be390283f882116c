#pragma once

#include <string>

#include "backends/cuda/launch/forward_params.h"
#include "backends/cuda/launch/launch_site.h"

namespace tilewright::cuda {

namespace params {

/// ValueMapParams of attention/value_maps.cuh.
struct ValueMaps {
  TensorMap value;
  DeviceAddress maps = 0;
  KeyLengths lengths;
  std::int32_t kv_rows = 0;
  std::int32_t reserved = 0;
};

}  // namespace params

/// The text that the source of a row that reads lengths ends with: a kernel that makes tensor maps
/// of the values, one a batch.
std::string value_maps_kernel_text(const std::string& kernel);
std::string value_maps_kernel_name(const std::string& kernel);

/// The call's table of key lengths; none where it brings none.
params::KeyLengths key_lengths(const LaunchSite& site);

/// Enqueues what makes the maps in workspace, 128 bytes a batch, and says where they lie.
DeviceAddress build_value_maps(const LaunchSite& site, FunctionHandle function,
                               const params::Hopper& forward);

}  // namespace tilewright::cuda
