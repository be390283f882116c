#include "backends/cuda/device/schedule_counters.h"

namespace tilewright::cuda {

ScheduleCounters::ScheduleCounters(const Driver& driver) : driver_(driver) {
  constexpr std::size_t kBytes = std::size_t{kEagerPairs + kCapturedPairs} * kPairBytes;
  driver.check(driver.allocate(&base_, kBytes), "cuMemAlloc", "counters of schedules");
  driver.check(driver.set_words(base_, 0, kBytes / 4), "cuMemsetD32", "counters of schedules");
  // The zeros must lie there before a stream that does not wait for the default one runs.
  driver.check(driver.context_synchronize(), "cuCtxSynchronize", "counters of schedules");
}

void ScheduleCounters::release() noexcept {
  if (base_ != 0) driver_.deallocate(base_);
  base_ = 0;
}

DeviceAddress ScheduleCounters::for_eager_launch() noexcept {
  return base_ + kPairBytes * (eager_.fetch_add(1, std::memory_order_relaxed) % kEagerPairs);
}

DeviceAddress ScheduleCounters::for_captured_launch() noexcept {
  const std::uint32_t index = captured_.fetch_add(1, std::memory_order_relaxed);
  if (index < kCapturedPairs) return base_ + kPairBytes * (kEagerPairs + index);
  captured_.store(kCapturedPairs, std::memory_order_relaxed);
  return 0;
}

}  // namespace tilewright::cuda
