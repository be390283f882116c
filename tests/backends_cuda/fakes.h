#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "backends/cuda/driver/driver.h"
#include "fake_cuda/fake_driver.h"
#include "support/scratch_folder.h"

namespace tilewright::cuda::fakes {

inline std::string library(const std::string& name) {
  return std::string(TILEWRIGHT_BINARY_DIR) + "/tests/fakes/" + name + ".so";
}

inline std::string driver_library() { return library("fake_cuda"); }

/// The state of the fake driver, back at its defaults.
inline fake::FakeDriver& driver_state() {
  void* const handle = ::dlopen(driver_library().c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto state = reinterpret_cast<fake::FakeDriverState>(::dlsym(handle, "fake_driver_state"));
  *state() = fake::FakeDriver();
  return *state();
}

/// Copies the fake NVRTC of a CUDA major to `folder`/libnvrtc.so.<major>; gives the file's path.
inline std::string install_nvrtc(int major, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / ("libnvrtc.so." + std::to_string(major));
  std::filesystem::copy_file(library("fake_nvrtc_" + std::to_string(major)), file,
                             std::filesystem::copy_options::overwrite_existing);
  return file.string();
}

}  // namespace tilewright::cuda::fakes
