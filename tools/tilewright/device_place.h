#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options.h"
#include "owned_tensor.h"
#include "tilewright/engine.h"
#include "tilewright/program.h"

namespace tilewright::cli {

/// Where a verb's tensors lie: in host memory, or on a GPU in memory of its own.
class DevicePlace {
 public:
  /// "cpu", "cuda" or "cuda:<n>". Throws Error for another name or where there is no such GPU.
  explicit DevicePlace(const std::string& name);
  ~DevicePlace();
  DevicePlace(const DevicePlace&) = delete;
  DevicePlace& operator=(const DevicePlace&) = delete;

  Device device() const noexcept { return device_; }

  /// The tensor itself on the CPU; a row-major copy on a GPU.
  OwnedTensor placed(const TensorView& host) const;
  ForwardInputs placed(const ForwardInputs& host, std::vector<OwnedTensor>& memory) const;
  ForwardOutputs placed(const ForwardOutputs& host, std::vector<OwnedTensor>& memory) const;
  /// The same program reading copies of its captures.
  Program placed(const Program& program, std::vector<OwnedTensor>& memory) const;

  /// Waits for everything enqueued.
  void synchronise() const;
  /// Copies row-major tensors of a GPU back; nothing on the CPU.
  void fetch(const TensorView& placed, const TensorView& host) const;
  void fetch(const ForwardOutputs& placed, const ForwardOutputs& host) const;

 private:
  struct Gpu;
  Device device_;
  std::shared_ptr<Gpu> gpu_;  ///< null on the CPU
};

void add_device_option(OptionList& list, std::string& name);

}  // namespace tilewright::cli
