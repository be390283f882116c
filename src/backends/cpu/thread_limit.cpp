#include "backends/cpu/thread_limit.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>

namespace tilewright::cpu {

namespace {

int affinity_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::optional<double> read_number(const char* path) {
  std::ifstream file(path);
  double value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

/// cgroup v2: "max 100000" or "150000 100000".
std::optional<double> quota_v2() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
  return std::stod(quota) / period;
}

std::optional<double> quota_v1() {
  const auto quota = read_number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const auto period = read_number("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

}  // namespace

int thread_limit() {
  const int cores = affinity_count();
  std::optional<double> quota = quota_v2();
  if (!quota) quota = quota_v1();
  if (!quota) return cores;
  return std::clamp(static_cast<int>(std::ceil(*quota)), 1, cores);
}

}  // namespace tilewright::cpu
