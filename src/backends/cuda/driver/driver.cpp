#include "backends/cuda/driver/driver.h"

#include "tilewright/error.h"

namespace tilewright::cuda {

namespace {

/// Fills members of a table until one is missing, and remembers which.
class SymbolReader {
 public:
  explicit SymbolReader(const DynamicLibrary& library) : library_(library) {}

  template <class Function>
  SymbolReader& operator()(Function*& target, const char* symbol) {
    if (!library_.resolve(symbol, target) && missing_.empty()) missing_ = symbol;
    return *this;
  }
  const std::string& missing() const { return missing_; }

 private:
  const DynamicLibrary& library_;
  std::string missing_;
};

}  // namespace

std::string Driver::missing_symbol() {
  SymbolReader read(library_);
  read(init, "cuInit")(version, "cuDriverGetVersion")(error_name, "cuGetErrorName");
  read(error_string, "cuGetErrorString")(device_count, "cuDeviceGetCount");
  read(device_get, "cuDeviceGet")(device_name, "cuDeviceGetName");
  read(device_attribute, "cuDeviceGetAttribute");
  read(context_retain, "cuDevicePrimaryCtxRetain")(context_release, "cuDevicePrimaryCtxRelease_v2");
  read(context_current, "cuCtxGetCurrent")(context_push, "cuCtxPushCurrent_v2");
  read(context_pop, "cuCtxPopCurrent_v2")(context_synchronize, "cuCtxSynchronize");
  read(module_load, "cuModuleLoadDataEx")(module_unload, "cuModuleUnload");
  read(module_function, "cuModuleGetFunction")(function_set, "cuFuncSetAttribute");
  read(function_get, "cuFuncGetAttribute")(launch, "cuLaunchKernel");
  read(allocate, "cuMemAlloc_v2")(deallocate, "cuMemFree_v2");
  read(host_allocate, "cuMemHostAlloc")(host_deallocate, "cuMemFreeHost");
  read(host_device_address, "cuMemHostGetDevicePointer_v2");
  read(set_words, "cuMemsetD32_v2")(set_words_async, "cuMemsetD32Async");
  read(copy_to_device, "cuMemcpyHtoD_v2")(copy_to_host, "cuMemcpyDtoH_v2");
  read(pool_create, "cuMemPoolCreate")(pool_destroy, "cuMemPoolDestroy");
  read(pool_set, "cuMemPoolSetAttribute")(pool_allocate, "cuMemAllocFromPoolAsync");
  read(pool_deallocate, "cuMemFreeAsync")(stream_is_capturing, "cuStreamIsCapturing");
  read(stream_create, "cuStreamCreate")(stream_destroy, "cuStreamDestroy_v2");
  read(stream_synchronize, "cuStreamSynchronize");
  // Drivers before CUDA 12 lack it, and devices before Hopper do not need it.
  library_.resolve("cuTensorMapEncodeTiled", tensor_map);
  return read.missing();
}

std::string Driver::initialise() {
  if (const DriverStatus status = init(0); status != 0) return "cuInit: " + text_of(status);
  if (const DriverStatus status = version(&version_); status != 0)
    return "cuDriverGetVersion: " + text_of(status);
  if (const DriverStatus status = device_count(&devices_); status != 0)
    return "cuDeviceGetCount: " + text_of(status);
  return devices_ == 0 ? "the driver finds no device" : std::string();
}

std::shared_ptr<const Driver> Driver::open(const std::string& path, std::string& why) {
  std::optional<DynamicLibrary> library =
      DynamicLibrary::open(path.empty() ? "libcuda.so.1" : path, why);
  if (!library) return nullptr;
  std::shared_ptr<Driver> driver(new Driver(std::move(*library)));
  if (const std::string missing = driver->missing_symbol(); !missing.empty()) {
    why = "the driver is too old: it has no " + missing;
    return nullptr;
  }
  why = driver->initialise();
  return why.empty() ? driver : nullptr;
}

std::string Driver::version_text() const {
  return std::to_string(version_ / 1000) + "." + std::to_string(version_ % 1000 / 10);
}

std::string Driver::text_of(DriverStatus status) const {
  const char* name = nullptr;
  const char* text = nullptr;
  error_name(status, &name);
  error_string(status, &text);
  std::string result = name == nullptr ? "status " + std::to_string(status) : std::string(name);
  if (text != nullptr) result += std::string(" (") + text + ")";
  return result;
}

void Driver::raise(DriverStatus status, const char* function, std::string_view where) const {
  throw Error({.code = ErrorCode::kDevice,
               .what = std::string("the CUDA driver refused ") + function,
               .where = std::string(where),
               .expected = "success",
               .got = text_of(status),
               .hint = "an error of an earlier kernel in this context shows up here too"});
}

}  // namespace tilewright::cuda
