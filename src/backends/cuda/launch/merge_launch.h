#pragma once

#include <string>

#include "backends/cuda/launch/forward_params.h"
#include "backends/cuda/launch/launch_site.h"

namespace tilewright::cuda {

namespace params {

/// MergeParams of attention/portable_merge.cuh.
struct Merge {
  DeviceAddress out_parts = 0;
  DeviceAddress lse_parts = 0;
  DeviceAddress max_parts = 0;
  DeviceAddress out = 0;
  DeviceAddress lse = 0;
  DeviceAddress max_scores = 0;
  SlotStrides out_strides;
  SlotStrides lse_strides;
  std::int32_t splits = 0;
  std::int32_t batches = 0;
  std::int32_t heads = 0;
  std::int32_t query_rows = 0;
  std::int32_t value_dim = 0;
  std::int32_t reserved = 0;
};

}  // namespace params

/// The text that the source of a row that splits keys ends with, and the kernel in it.
std::string merge_kernel_text(const std::string& kernel, DType out);
std::string merge_kernel_name(const std::string& kernel);

/// How the keys of a call are cut: by their number and by how many heads they have, so that the
/// bits of a row depend neither on the batch nor on the device.
struct KeySplit {
  std::int32_t parts = 1;
  std::int32_t part_keys = 0;
};
KeySplit key_split(const Problem& problem) noexcept;

/// Bytes of workspace for the partial results of a call.
std::size_t part_workspace_bytes(const Problem& problem);

/// Takes workspace for the parts, turns the outputs of `forward` to it, and gives what joins them
/// afterwards.
params::Merge split_outputs(const LaunchSite& site, params::Portable& forward);

void enqueue_merge(const LaunchSite& site, FunctionHandle function, params::Merge& merge);

}  // namespace tilewright::cuda
