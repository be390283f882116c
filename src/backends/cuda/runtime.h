#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/contract/backend.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/nvrtc/nvrtc_search.h"
#include "backends/cuda/sources/kernel_sources.h"

namespace tilewright::cuda {

/// libcuda, NVRTC, the kernel sources and the devices of one engine, each opened when first asked
/// for: an engine that never sees a GPU costs nothing. Thread-safe.
class Runtime {
 public:
  explicit Runtime(backends::BackendOptions options) : options_(std::move(options)) {}

  /// Throws Error{kUnsupported} saying what is missing.
  const Driver& driver();
  const Nvrtc& nvrtc();
  const KernelSources& sources();
  DeviceFacts facts(int ordinal);
  std::shared_ptr<Gpu> gpu(int ordinal);

  /// The same without throwing: null with the reason.
  std::shared_ptr<const Driver> find_driver(std::string& why);
  const NvrtcChoice& nvrtc_choice();

 private:
  void require_ordinal(int ordinal);

  backends::BackendOptions options_;
  std::mutex mutex_;
  bool driver_tried_ = false;
  std::shared_ptr<const Driver> driver_;
  std::string why_no_driver_;
  std::unique_ptr<NvrtcChoice> nvrtc_;
  std::unique_ptr<KernelSources> sources_;
  std::map<int, DeviceFacts> facts_;
  std::map<int, std::shared_ptr<Gpu>> gpus_;
};

}  // namespace tilewright::cuda
