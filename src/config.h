#pragma once

#include <string>

#include "backends/contract/backend.h"
#include "tilewright/engine.h"

namespace tilewright {

/// Every environment variable that Tilewright reads, as it was when an engine was made.
struct Config {
  std::string cpu_isa;    ///< TILEWRIGHT_CPU_ISA
  std::string cache_dir;  ///< TILEWRIGHT_CACHE_DIR
  std::string
      cache_layers;  ///< TILEWRIGHT_CACHE_LAYERS: read-only folders in front, separated by colons
  std::string xdg_cache_home;  ///< XDG_CACHE_HOME
  std::string home;            ///< HOME
  std::string record_dir;      ///< TILEWRIGHT_RECORD
  bool record_data = false;    ///< TILEWRIGHT_RECORD_DATA is 1
  std::string backend;         ///< TILEWRIGHT_BACKEND
  int threads = 0;             ///< TILEWRIGHT_THREADS
  bool checked = false;        ///< TILEWRIGHT_CHECKED is 1
  bool deterministic = false;  ///< TILEWRIGHT_DETERMINISTIC is 1
  std::string nvrtc;           ///< TILEWRIGHT_NVRTC
  std::string cuda_driver;     ///< TILEWRIGHT_CUDA_DRIVER
  std::string kernel_dir;      ///< TILEWRIGHT_KERNEL_DIR
  std::string virtual_env;     ///< VIRTUAL_ENV
  std::string cuda_home;       ///< CUDA_HOME
  std::string cuda_path;       ///< CUDA_PATH
};

/// Throws Error{kInvalidArgument} for a value that cannot be meant.
Config read_config();

/// Options with the environment's values where the caller left a default.
EngineOptions with_config(EngineOptions options, const Config& config);

/// What backends take from both.
backends::BackendOptions backend_options(const EngineOptions& options, const Config& config);

}  // namespace tilewright
