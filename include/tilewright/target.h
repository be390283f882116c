#pragma once

#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace tilewright {

/// One backend as this process sees it; what `doctor` prints.
struct TargetInfo {
  std::string backend;  ///< "reference", "cpu", "cuda"
  bool available = false;
  std::string device;                ///< "AMD EPYC, avx2", "NVIDIA H200, sm_90a"
  std::string reason;                ///< why it is (un)available, what was chosen and why
  std::vector<std::string> kernels;  ///< kernel rows, each with its state
};

/// Every backend compiled into this library, with its state on this machine.
std::vector<TargetInfo> targets();

/// "0.1.0"
const char* version() noexcept;

}  // namespace tilewright

#pragma GCC visibility pop
