#pragma once

#include <cstdlib>

#include "tilewright/engine.h"

namespace tilewright::device_tests {

/// Kernels come from TILEWRIGHT_CACHE_DIR where it is set: scripts/sanitize_gpu.sh compiles them
/// outside its tools.
inline EngineOptions small_call_options() {
  EngineOptions options;
  if (std::getenv("TILEWRIGHT_CACHE_DIR") == nullptr) options.cache_dir = "none";
  return options;
}

}  // namespace tilewright::device_tests
