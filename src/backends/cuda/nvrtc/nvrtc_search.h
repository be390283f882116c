#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/contract/backend.h"
#include "backends/cuda/nvrtc/nvrtc.h"

namespace tilewright::cuda {

/// Where NVRTC may come from; plain data, so that the order can be tested.
struct NvrtcPlaces {
  std::string chosen;  ///< EngineOptions::nvrtc or TILEWRIGHT_NVRTC: a library or its folder
  std::vector<std::string> loaded;         ///< NVRTC libraries that the process has loaded
  std::vector<std::string> site_packages;  ///< Python package folders, most specific first
  std::vector<std::string> toolkits;       ///< CUDA toolkit folders
};

/// The places of this process: what it has loaded; the site-packages of loaded Python modules, of
/// options.virtual_env and of a .venv above this library's own folder; options.cuda_toolkits and
/// /usr/local/cuda.
NvrtcPlaces nvrtc_places(const backends::BackendOptions& options);

/// What was found and how the search went.
struct NvrtcChoice {
  std::shared_ptr<const Nvrtc> nvrtc;  ///< null: none
  std::string reason;                  ///< why this one, or what was missing
  std::vector<std::string> tried;      ///< one line a rejected place
};

/// Looks in this order: the chosen one (nothing else is tried then), one already loaded, PyPI
/// wheels (nvidia/cu<major>, nvidia/cuda_nvrtc), toolkits, the loader's own path. Never takes one
/// whose CUDA major is newer than the driver's.
NvrtcChoice find_nvrtc(const NvrtcPlaces& places, int driver_major);

}  // namespace tilewright::cuda
