#include <algorithm>

#include "prepared.h"

namespace tilewright {

void StatsBoard::compiled(double milliseconds) {
  const std::lock_guard lock(mutex_);
  ++stats_.compiles;
  stats_.compile_ms += milliseconds;
}

void StatsBoard::hit() {
  const std::lock_guard lock(mutex_);
  ++stats_.memory_hits;
}

void StatsBoard::disk_hit() {
  const std::lock_guard lock(mutex_);
  ++stats_.disk_hits;
}

void StatsBoard::called(const std::string& kernel, std::size_t workspace_bytes) {
  const std::lock_guard lock(mutex_);
  ++stats_.calls;
  ++calls_by_kernel_[kernel];
  stats_.workspace_bytes_peak = std::max(stats_.workspace_bytes_peak, workspace_bytes);
}

EngineStats StatsBoard::read() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  for (const auto& [kernel, calls] : calls_by_kernel_) stats.kernels.push_back({kernel, calls});
  return stats;
}

}  // namespace tilewright
