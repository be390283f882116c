#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::fake {

/// One cuLaunchKernel.
struct FakeLaunch {
  std::string function;
  unsigned grid_x = 0, grid_y = 0;
  unsigned threads = 0;
  unsigned shared_bytes = 0;
  void* stream = nullptr;
  void* context = nullptr;        ///< current at the launch
  std::vector<std::byte> params;  ///< of the first parameter, as many bytes as params_bytes says
  std::vector<std::byte> block;   ///< of the second, which companions of a kernel do not have
};

/// One cuTensorMapEncodeTiled.
struct FakeTensorMap {
  void* address = nullptr;
  int data_type = 0;
  std::uint64_t extents[4] = {};
  std::uint64_t strides_bytes[3] = {};
  std::uint32_t box[4] = {};
};

/// Everything the fake driver was asked for, and how it shall behave. "Device" memory is the
/// host's.
struct FakeDriver {
  int version = 13000;
  int devices = 2;
  int major = 9, minor = 0;
  int multiprocessors = 132;
  int fail_init = 0;    ///< status of cuInit
  int fail_launch = 0;  ///< status of cuLaunchKernel
  int capturing = 0;    ///< what streams say of themselves
  std::size_t params_bytes = 0, block_bytes = 0;
  /// Kernels with one parameter, by the end of their name, and its bytes.
  std::vector<std::pair<std::string, std::size_t>> single_parameter;

  std::vector<FakeLaunch> launches;
  std::vector<FakeTensorMap> tensor_maps;
  std::vector<std::string> images;  ///< of cuModuleLoadData
  std::vector<std::string> functions;
  std::vector<void*> contexts;  ///< the stack of current contexts
  int pushes = 0, pops = 0;
  int allocations = 0, pool_allocations = 0, pool_deallocations = 0;
  int synchronisations = 0;
  std::size_t memset_async = 0;
};

/// The library's one state, by symbol "fake_driver_state".
using FakeDriverState = FakeDriver* (*)();

}  // namespace tilewright::fake
