#pragma once

#include <string>

#include "backends/cuda/launch/launch_site.h"
#include "backends/cuda/parameter_block.h"

namespace tilewright::cuda {

namespace params {

/// MaskSpanParams of attention/mask_spans.cuh.
struct MaskSpans {
  DeviceAddress spans = 0;
  DeviceAddress ranges = 0;
  DeviceAddress lists_cut = 0;
  std::int64_t capacity = 0;
  std::int32_t lists = 0;
  std::int32_t heads = 0;
  std::int32_t q_blocks = 0;
  std::int32_t q_block_rows = 0;
  std::int32_t q_rows = 0;
  std::int32_t kv_rows = 0;
};

}  // namespace params

/// The text that the source of a row that walks lists ends with where the program has a mask: a
/// kernel that makes the mask's map.
std::string map_kernel_text(const std::string& kernel);
std::string map_kernel_name(const std::string& kernel);

/// The lists of a map in a device's memory.
params::SpanLists lists_of(const DeviceMaskMap& map);

/// Enqueues what makes the map; `block` is the parameter block of the program.
void enqueue_map(const LaunchSite& site, const DeviceMaskMap& map, FunctionHandle function,
                 std::byte* block);

}  // namespace tilewright::cuda
