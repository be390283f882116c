#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::analyse {

/// Where the parts of a DeviceMaskMap lie in its memory: a counter in front, then a range of 16
/// bytes a list, then 16 bytes a span.
struct DeviceMapLayout {
  std::size_t ranges_at = 0;
  std::size_t spans_at = 0;
  std::size_t bytes = 0;
};

constexpr DeviceMapLayout device_map_layout(std::int64_t lists, std::int64_t spans_per_list) {
  constexpr std::size_t kHeadBytes = 256, kEntryBytes = 16;
  const auto count = static_cast<std::size_t>(lists);
  DeviceMapLayout layout{.ranges_at = kHeadBytes};
  layout.spans_at = layout.ranges_at + count * kEntryBytes;
  layout.bytes = layout.spans_at + count * static_cast<std::size_t>(spans_per_list) * kEntryBytes;
  return layout;
}

}  // namespace tilewright::analyse
