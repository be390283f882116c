#pragma once

#include <optional>
#include <span>
#include <string>

#include "backends/cuda/driver/dynamic_library.h"

namespace tilewright::cuda {

/// Named ranges for profilers (NVTX). The library is one that the process has loaded or that the
/// loader finds; without it a range costs one comparison.
class Nvtx {
 public:
  /// The first of `names` that has the functions; empty names: those that NVIDIA's tools use.
  static Nvtx find(std::span<const std::string> names = {});

  bool available() const noexcept { return push_ != nullptr; }

  /// A range of this thread, from construction to destruction.
  class Range {
   public:
    Range(const Nvtx& nvtx, const char* name) : nvtx_(nvtx) {
      if (nvtx_.available()) nvtx_.push_(name);
    }
    ~Range() {
      if (nvtx_.available()) nvtx_.pop_();
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

   private:
    const Nvtx& nvtx_;
  };

 private:
  std::optional<DynamicLibrary> library_;
  int (*push_)(const char* name) = nullptr;
  int (*pop_)() = nullptr;
};

}  // namespace tilewright::cuda
