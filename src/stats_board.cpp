#include "prepared.h"

namespace tilewright {

void StatsBoard::compiled(double milliseconds) {
  const std::lock_guard lock(mutex_);
  ++stats_.compiles;
  stats_.compile_ms += milliseconds;
}

void StatsBoard::hit() noexcept { memory_hits_.fetch_add(1, std::memory_order_relaxed); }

void StatsBoard::disk_hit() {
  const std::lock_guard lock(mutex_);
  ++stats_.disk_hits;
}

StatsBoard::CallCount& StatsBoard::calls_of(const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  return calls_by_kernel_[kernel];
}

void StatsBoard::called(CallCount& count, std::size_t workspace_bytes) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  std::size_t peak = workspace_bytes_peak_.load(std::memory_order_relaxed);
  while (peak < workspace_bytes && !workspace_bytes_peak_.compare_exchange_weak(
                                       peak, workspace_bytes, std::memory_order_relaxed)) {
  }
}

EngineStats StatsBoard::read() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  stats.memory_hits = memory_hits_.load(std::memory_order_relaxed);
  stats.workspace_bytes_peak = workspace_bytes_peak_.load(std::memory_order_relaxed);
  for (const auto& [kernel, count] : calls_by_kernel_) {
    const std::int64_t calls = count.load(std::memory_order_relaxed);
    if (calls == 0) continue;
    stats.calls += calls;
    stats.kernels.push_back({kernel, calls});
  }
  return stats;
}

}  // namespace tilewright
