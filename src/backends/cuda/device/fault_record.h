#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cuda/device/gpu.h"
#include "ir/program.h"

namespace tilewright::cuda {

/// The ErrorRecord of a kernel in checked mode (attention/forward_params.cuh): 16 bytes of host
/// memory that the device writes, so that looking costs no synchronisation.
class FaultRecord {
 public:
  /// The device's context must be current.
  FaultRecord(Gpu& gpu, std::string kernel);
  ~FaultRecord();
  FaultRecord(const FaultRecord&) = delete;
  FaultRecord& operator=(const FaultRecord&) = delete;

  DeviceAddress address() const noexcept { return address_; }
  /// Remembers what the latest launch was about; messages name it and its captured tensors.
  /// Programs of one structure share a kernel, so that names are each call's own.
  void launched(const ir::Program& program, std::string problem);
  /// Throws Error{kIndexOutOfRange} or {kDivisionByZero} if a kernel has reported since the last
  /// time, and forgets it.
  void raise_if_written();

 private:
  struct Record {
    std::int32_t code;
    std::int32_t capture;
    std::int64_t index;
  };
  Gpu& gpu_;
  std::string kernel_;
  volatile Record* record_ = nullptr;
  DeviceAddress address_ = 0;
  std::mutex mutex_;
  std::string problem_;
  std::vector<std::string> captures_;  ///< names by slot
};

}  // namespace tilewright::cuda
