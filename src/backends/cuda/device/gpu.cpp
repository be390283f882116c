#include "backends/cuda/device/gpu.h"

#include <array>

#include "backends/cuda/device/context_scope.h"

namespace tilewright::cuda {

namespace {

constexpr int kReleaseThreshold = 4;  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD

std::string where_of(int ordinal) { return "cuda:" + std::to_string(ordinal); }

}  // namespace

DeviceFacts device_facts(const Driver& driver, int ordinal) {
  const std::string where = where_of(ordinal);
  int handle = 0;
  driver.check(driver.device_get(&handle, ordinal), "cuDeviceGet", where);
  std::array<char, 256> name{};
  driver.check(driver.device_name(name.data(), name.size() - 1, handle), "cuDeviceGetName", where);
  const auto attribute = [&](DeviceAttribute wanted) {
    int value = 0;
    driver.check(driver.device_attribute(&value, wanted, handle), "cuDeviceGetAttribute", where);
    return value;
  };
  return {.ordinal = ordinal,
          .name = name.data(),
          .major = attribute(DeviceAttribute::kMajor),
          .minor = attribute(DeviceAttribute::kMinor),
          .multiprocessors = attribute(DeviceAttribute::kMultiprocessors),
          .block_shared_bytes = attribute(DeviceAttribute::kBlockSharedBytes),
          .multiprocessor_shared_bytes = attribute(DeviceAttribute::kMultiprocessorSharedBytes)};
}

Gpu::Gpu(std::shared_ptr<const Driver> driver, int ordinal)
    : driver_(std::move(driver)), facts_(device_facts(*driver_, ordinal)), nvtx_(Nvtx::find()) {
  driver_->check(driver_->device_get(&handle_, ordinal), "cuDeviceGet", where_of(ordinal));
  driver_->check(driver_->context_retain(&context_, handle_), "cuDevicePrimaryCtxRetain",
                 where_of(ordinal));
  const ContextScope scope(*driver_, context_);
  counters_ = std::make_unique<ScheduleCounters>(*driver_);
}

Gpu::~Gpu() {
  // At process exit the driver may be gone already; what it says then changes nothing.
  ContextHandle popped = nullptr;
  if (driver_->context_push(context_) == 0) {
    counters_->release();
    if (pool_ != nullptr) driver_->pool_destroy(pool_);
    driver_->context_pop(&popped);
  }
  driver_->context_release(handle_);
}

PoolHandle Gpu::pool() {
  const std::lock_guard lock(pool_mutex_);
  if (pool_ != nullptr) return pool_;
  PoolProperties properties;
  properties.location_id = facts_.ordinal;
  driver_->check(driver_->pool_create(&pool_, &properties), "cuMemPoolCreate",
                 where_of(facts_.ordinal));
  std::uint64_t keep_all = ~std::uint64_t{0};
  driver_->pool_set(pool_, kReleaseThreshold, &keep_all);
  return pool_;
}

DeviceAddress Gpu::allocate(std::size_t bytes, StreamHandle stream) {
  DeviceAddress address = 0;
  driver_->check(driver_->pool_allocate(&address, bytes, pool(), stream), "cuMemAllocFromPoolAsync",
                 std::to_string(bytes) + " bytes of workspace");
  return address;
}

void Gpu::deallocate(DeviceAddress address, StreamHandle stream) noexcept {
  driver_->pool_deallocate(address, stream);
}

}  // namespace tilewright::cuda
