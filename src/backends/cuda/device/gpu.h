#pragma once

#include <memory>
#include <mutex>

#include "backends/cuda/device/schedule_counters.h"
#include "backends/cuda/device_facts.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/nvtx.h"

namespace tilewright::cuda {

/// What the driver says of a device, without a context.
DeviceFacts device_facts(const Driver& driver, int ordinal);

/// One device as an engine holds it: its primary context, kept alive, and what launches share.
/// Thread-safe.
class Gpu {
 public:
  /// Retains the primary context. Throws Error{kDevice}.
  Gpu(std::shared_ptr<const Driver> driver, int ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const noexcept { return *driver_; }
  const DeviceFacts& facts() const noexcept { return facts_; }
  ContextHandle context() const noexcept { return context_; }
  const Nvtx& nvtx() const noexcept { return nvtx_; }
  ScheduleCounters& counters() noexcept { return *counters_; }

  /// Memory for work on `stream`, from a pool of this engine that keeps what it has.
  DeviceAddress allocate(std::size_t bytes, StreamHandle stream);
  void deallocate(DeviceAddress address, StreamHandle stream) noexcept;

 private:
  PoolHandle pool();

  std::shared_ptr<const Driver> driver_;
  DeviceFacts facts_;
  Nvtx nvtx_;
  int handle_ = 0;
  ContextHandle context_ = nullptr;
  std::unique_ptr<ScheduleCounters> counters_;
  std::mutex pool_mutex_;
  PoolHandle pool_ = nullptr;
};

}  // namespace tilewright::cuda
