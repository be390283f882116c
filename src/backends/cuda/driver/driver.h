#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/cuda/driver/dynamic_library.h"

namespace tilewright::cuda {

/// Handles of the driver, named after its types. Layout and values are the driver's ABI.
using DriverStatus = int;  ///< CUresult; 0 is success
using DeviceAddress = std::uint64_t;
using ContextHandle = struct CUctx_st*;
using ModuleHandle = struct CUmod_st*;
using FunctionHandle = struct CUfunc_st*;
using StreamHandle = struct CUstream_st*;
using PoolHandle = struct CUmemPoolHandle_st*;

/// CUtensorMap: opaque, 128 bytes.
struct alignas(64) TensorMap {
  std::uint64_t words[16];
};

/// CUmemPoolProps, as far as pools of pinned device memory need it.
struct PoolProperties {
  int allocation_type = 1;  ///< CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;
  int location_type = 1;  ///< CU_MEM_LOCATION_TYPE_DEVICE
  int location_id = 0;
  void* security_attributes = nullptr;
  std::size_t max_bytes = 0;
  unsigned char reserved[56] = {};
};
static_assert(sizeof(PoolProperties) == 88);

/// CUdevice_attribute.
enum class DeviceAttribute : int {
  kMultiprocessors = 16,
  kMajor = 75,
  kMinor = 76,
  kMultiprocessorSharedBytes = 81,
  kBlockSharedBytes = 97
};

/// The driver functions in use; one that an old driver lacks makes it unusable with that name as
/// reason. See the CUDA Driver API for each.
struct DriverTable {
  DriverStatus (*init)(unsigned flags);
  DriverStatus (*version)(int* version);
  DriverStatus (*error_name)(DriverStatus status, const char** text);
  DriverStatus (*error_string)(DriverStatus status, const char** text);
  DriverStatus (*device_count)(int* count);
  DriverStatus (*device_get)(int* device, int ordinal);
  DriverStatus (*device_name)(char* name, int capacity, int device);
  DriverStatus (*device_attribute)(int* value, DeviceAttribute attribute, int device);
  DriverStatus (*context_retain)(ContextHandle* context, int device);
  DriverStatus (*context_release)(int device);
  DriverStatus (*context_current)(ContextHandle* context);
  DriverStatus (*context_push)(ContextHandle context);
  DriverStatus (*context_pop)(ContextHandle* context);
  DriverStatus (*context_synchronize)();
  DriverStatus (*module_load)(ModuleHandle* module, const void* image, unsigned count, int* options,
                              void** values);
  DriverStatus (*module_unload)(ModuleHandle module);
  DriverStatus (*module_function)(FunctionHandle* function, ModuleHandle module, const char* name);
  DriverStatus (*function_set)(FunctionHandle function, int attribute, int value);
  DriverStatus (*function_get)(int* value, int attribute, FunctionHandle function);
  DriverStatus (*launch)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z,
                         unsigned shared_bytes, StreamHandle stream, void** parameters,
                         void** extra);
  DriverStatus (*tensor_map)(TensorMap* map, int data_type, std::uint32_t rank, void* address,
                             const std::uint64_t* extents, const std::uint64_t* strides_bytes,
                             const std::uint32_t* box, const std::uint32_t* element_strides,
                             int interleave, int swizzle, int promotion, int fill);
  DriverStatus (*allocate)(DeviceAddress* address, std::size_t bytes);
  DriverStatus (*deallocate)(DeviceAddress address);
  DriverStatus (*host_allocate)(void** address, std::size_t bytes, unsigned flags);
  DriverStatus (*host_deallocate)(void* address);
  DriverStatus (*host_device_address)(DeviceAddress* address, void* host, unsigned flags);
  DriverStatus (*set_words)(DeviceAddress address, unsigned value, std::size_t count);
  DriverStatus (*set_words_async)(DeviceAddress address, unsigned value, std::size_t count,
                                  StreamHandle stream);
  DriverStatus (*copy_to_device)(DeviceAddress to, const void* from, std::size_t bytes);
  DriverStatus (*copy_to_host)(void* to, DeviceAddress from, std::size_t bytes);
  DriverStatus (*pool_create)(PoolHandle* pool, const PoolProperties* properties);
  DriverStatus (*pool_destroy)(PoolHandle pool);
  DriverStatus (*pool_set)(PoolHandle pool, int attribute, void* value);
  DriverStatus (*pool_allocate)(DeviceAddress* address, std::size_t bytes, PoolHandle pool,
                                StreamHandle stream);
  DriverStatus (*pool_deallocate)(DeviceAddress address, StreamHandle stream);
  DriverStatus (*stream_is_capturing)(StreamHandle stream, int* status);
  DriverStatus (*stream_create)(StreamHandle* stream, unsigned flags);
  DriverStatus (*stream_destroy)(StreamHandle stream);
  DriverStatus (*stream_synchronize)(StreamHandle stream);
};

/// libcuda, opened and initialised. Plain after construction; thread-safe as the driver is.
class Driver : public DriverTable {
 public:
  /// Opens `path`, or libcuda.so.1 where it is empty, and initialises it. Null with `why` filled
  /// where there is none, it is too old, or it finds no device.
  static std::shared_ptr<const Driver> open(const std::string& path, std::string& why);

  int version_number() const noexcept { return version_; }  ///< 13000 for CUDA 13.0
  int major() const noexcept { return version_ / 1000; }
  int devices() const noexcept { return devices_; }
  std::string version_text() const;
  std::string text_of(DriverStatus status) const;

  /// Throws Error{kDevice} naming the driver's function and `where` for any status but success.
  void check(DriverStatus status, const char* function, std::string_view where) const {
    if (status != 0) raise(status, function, where);
  }

 private:
  explicit Driver(DynamicLibrary library) : DriverTable(), library_(std::move(library)) {}
  [[noreturn]] void raise(DriverStatus status, const char* function, std::string_view where) const;
  std::string missing_symbol();
  std::string initialise();

  DynamicLibrary library_;
  int version_ = 0;
  int devices_ = 0;
};

}  // namespace tilewright::cuda
