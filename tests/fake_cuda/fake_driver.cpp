#include "fake_cuda/fake_driver.h"

#include <cstdlib>
#include <cstring>

// The driver's ABI, as far as src/backends/cuda/driver/driver.h names it.
namespace {

using tilewright::fake::FakeDriver;

constexpr int kInvalidValue = 1;

FakeDriver& state() {
  static FakeDriver driver;
  return driver;
}

void* context_of(int device) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(0xc0000 + device));
}

/// A kernel that another one brings along: its one parameter has a struct of its own.
bool is_companion(const std::string& name) {
  for (const char* const part : {"_pyramid", "_merge", "_build_spans", "_upload_"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

int make_memory(std::uint64_t* address, std::size_t bytes) {
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *address = reinterpret_cast<std::uint64_t>(memory);
  return memory == nullptr ? 2 : 0;
}

}  // namespace

extern "C" {

FakeDriver* fake_driver_state() { return &state(); }

int cuInit(unsigned) { return state().fail_init; }
int cuDriverGetVersion(int* version) {
  *version = state().version;
  return 0;
}
int cuGetErrorName(int status, const char** text) {
  *text = status == 0 ? "CUDA_SUCCESS" : "CUDA_ERROR_FAKE";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "told by the fake driver";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = state().devices;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < state().devices ? 0 : kInvalidValue;
}
int cuDeviceGetName(char* name, int capacity, int) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(capacity));
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 16:
      *value = state().multiprocessors;
      return 0;
    case 75:
      *value = state().major;
      return 0;
    case 76:
      *value = state().minor;
      return 0;
    case 81:
      *value = 233472;
      return 0;
    case 97:
      *value = 232448;
      return 0;
    default:
      return kInvalidValue;
  }
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = context_of(device);
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxGetCurrent(void** context) {
  *context = state().contexts.empty() ? nullptr : state().contexts.back();
  return 0;
}
int cuCtxPushCurrent_v2(void* context) {
  ++state().pushes;
  state().contexts.push_back(context);
  return 0;
}
int cuCtxPopCurrent_v2(void** context) {
  ++state().pops;
  if (state().contexts.empty()) return kInvalidValue;
  *context = state().contexts.back();
  state().contexts.pop_back();
  return 0;
}
int cuCtxSynchronize() {
  ++state().synchronisations;
  return 0;
}
int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
  state().images.emplace_back(static_cast<const char*>(image));
  *module = reinterpret_cast<void*>(state().images.size());
  return 0;
}
int cuModuleUnload(void*) { return 0; }
int cuModuleGetFunction(void** function, void*, const char* name) {
  state().functions.emplace_back(name);
  *function = reinterpret_cast<void*>(state().functions.size());
  return 0;
}
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuFuncGetAttribute(int* value, int, void*) {
  *value = 0;
  return 0;
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned, unsigned block_x,
                   unsigned, unsigned, unsigned shared_bytes, void* stream, void** parameters,
                   void**) {
  FakeDriver& driver = state();
  if (driver.fail_launch != 0) return driver.fail_launch;
  tilewright::fake::FakeLaunch launch;
  launch.grid_x = grid_x;
  launch.grid_y = grid_y;
  launch.threads = block_x;
  launch.shared_bytes = shared_bytes;
  launch.stream = stream;
  launch.context = driver.contexts.empty() ? nullptr : driver.contexts.back();
  launch.function = driver.functions.at(reinterpret_cast<std::uintptr_t>(function) - 1);
  const auto* params = static_cast<const std::byte*>(parameters[0]);
  std::size_t only_bytes = 0;
  for (const auto& [end, bytes] : driver.single_parameter)
    if (launch.function.ends_with(end)) only_bytes = bytes;
  const bool alone = only_bytes != 0 || is_companion(launch.function);
  launch.params.assign(params, params + (alone ? only_bytes : driver.params_bytes));
  if (!alone) {
    const auto* block = static_cast<const std::byte*>(parameters[1]);
    launch.block.assign(block, block + driver.block_bytes);
  }
  driver.launches.push_back(std::move(launch));
  return 0;
}
int cuTensorMapEncodeTiled(void* map, int data_type, std::uint32_t rank, void* address,
                           const std::uint64_t* extents, const std::uint64_t* strides,
                           const std::uint32_t* box, const std::uint32_t*, int, int, int, int) {
  if (rank != 4 || address == nullptr) return kInvalidValue;
  tilewright::fake::FakeTensorMap made;
  made.address = address;
  made.data_type = data_type;
  std::memcpy(made.extents, extents, sizeof made.extents);
  std::memcpy(made.strides_bytes, strides, sizeof made.strides_bytes);
  std::memcpy(made.box, box, sizeof made.box);
  std::memset(map, 0, 128);
  state().tensor_maps.push_back(made);
  return 0;
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  ++state().allocations;
  return make_memory(address, bytes);
}
int cuMemFree_v2(std::uint64_t address) {
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  std::uint64_t address = 0;
  const int status = make_memory(&address, bytes);
  *memory = reinterpret_cast<void*>(address);
  return status;
}
int cuMemFreeHost(void* memory) {
  std::free(memory);
  return 0;
}
int cuMemHostGetDevicePointer_v2(std::uint64_t* address, void* memory, unsigned) {
  *address = reinterpret_cast<std::uint64_t>(memory);
  return 0;
}
int cuMemsetD32_v2(std::uint64_t address, unsigned value, std::size_t count) {
  auto* const words = reinterpret_cast<std::uint32_t*>(address);
  for (std::size_t i = 0; i < count; ++i) words[i] = value;
  return 0;
}
int cuMemsetD32Async(std::uint64_t address, unsigned value, std::size_t count, void*) {
  ++state().memset_async;
  return cuMemsetD32_v2(address, value, count);
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuMemPoolCreate(void** pool, const void*) {
  *pool = reinterpret_cast<void*>(std::uintptr_t{0x9001});
  return 0;
}
int cuMemPoolDestroy(void*) { return 0; }
int cuMemPoolSetAttribute(void*, int, void*) { return 0; }
int cuMemAllocFromPoolAsync(std::uint64_t* address, std::size_t bytes, void*, void*) {
  ++state().pool_allocations;
  return make_memory(address, bytes);
}
int cuMemFreeAsync(std::uint64_t address, void*) {
  ++state().pool_deallocations;
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
int cuStreamIsCapturing(void*, int* status) {
  *status = state().capturing;
  return 0;
}
int cuStreamCreate(void** stream, unsigned) {
  *stream = reinterpret_cast<void*>(std::uintptr_t{0x57});
  return 0;
}
int cuStreamDestroy_v2(void*) { return 0; }
int cuStreamSynchronize(void*) {
  ++state().synchronisations;
  return 0;
}

}  // extern "C"
