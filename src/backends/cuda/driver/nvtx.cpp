#include "backends/cuda/driver/nvtx.h"

#include <array>

namespace tilewright::cuda {

namespace {

/// Of toolkits before CUDA 13 and of the wheel nvidia-nvtx.
const std::array<std::string, 3>& usual_names() {
  static const std::array<std::string, 3> names{"libnvToolsExt.so.1", "libnvtx3interop.so.1",
                                                "libnvtx3interop.so"};
  return names;
}

}  // namespace

Nvtx Nvtx::find(std::span<const std::string> names) {
  if (names.empty()) names = usual_names();
  Nvtx found;
  for (const std::string& name : names) {
    std::string why;
    found.library_ = DynamicLibrary::already_loaded(name);
    if (!found.library_) found.library_ = DynamicLibrary::open(name, why);
    if (!found.library_) continue;
    const bool complete = found.library_->resolve("nvtxRangePushA", found.push_) &&
                          found.library_->resolve("nvtxRangePop", found.pop_);
    if (complete) return found;
    found = {};
  }
  return found;
}

}  // namespace tilewright::cuda
