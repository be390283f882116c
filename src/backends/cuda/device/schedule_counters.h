#pragma once

#include <atomic>
#include <cstdint>

#include "backends/cuda/driver/driver.h"

namespace tilewright::cuda {

/// Pairs of zeroed 32-bit counters in device memory for dynamic schedules. A kernel leaves its pair
/// as it found it, so a pair may be handed out again; concurrent kernels must have different ones.
/// Eager launches take turns through a ring far longer than launch queues are; a captured launch
/// keeps its pair for as long as its graph may run, which is for ever.
class ScheduleCounters {
 public:
  static constexpr std::uint32_t kEagerPairs = 1 << 15;
  static constexpr std::uint32_t kCapturedPairs = 1 << 15;
  static constexpr std::size_t kPairBytes = 8;

  /// Allocates; the device's context must be current.
  explicit ScheduleCounters(const Driver& driver);
  /// The context must be alive and current.
  void release() noexcept;

  DeviceAddress for_eager_launch() noexcept;
  /// 0 once all are taken.
  DeviceAddress for_captured_launch() noexcept;

 private:
  const Driver& driver_;
  DeviceAddress base_ = 0;
  std::atomic<std::uint32_t> eager_{0};
  std::atomic<std::uint32_t> captured_{0};
};

}  // namespace tilewright::cuda
