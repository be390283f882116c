#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/backward_rows.h"
#include "backends/cuda/device/fault_record.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/launch/backward_launch.h"
#include "backends/cuda/launch/capture_launch.h"
#include "backends/cuda/launch/list_launch.h"
#include "backends/cuda/parameter_block.h"
#include "backends/cuda/reporting_kernel.h"

namespace tilewright::cuda {

/// What a backward kernel is loaded from, beside its machine code.
struct BackwardKernelParts {
  BackwardRow row;
  std::string kernel_name;
  std::int64_t shared_bytes = 0;
  std::vector<PyramidRequest> pyramids;
  CaptureKernelPlan capturing;
  bool ordered = false;
  bool reports = false;  ///< checked mode
};

/// The loaded kernels of one derivative on one device.
class CudaBackwardKernel final : public ReportingKernel {
 public:
  /// Loads into the device's primary context. Throws Error{kDevice}.
  CudaBackwardKernel(std::shared_ptr<Gpu> gpu, const backends::Binary& binary,
                     BackwardKernelParts parts, const ir::Program& program);
  ~CudaBackwardKernel() override;

  std::size_t workspace_bytes(const Program& program, const Problem& problem) const override;
  std::size_t launch(const backends::Launch& launch) const override;
  std::size_t launch_backward(const backends::BackwardLaunch& launch) const override;
  void check_errors() const override;

 private:
  struct Call;
  void load(const backends::Binary& binary);
  FunctionHandle function(const std::string& suffix) const;
  void enqueue(const backends::BackwardLaunch& launch, class Workspace& workspace) const;
  params::SpanLists spans_of(const LaunchSite& site) const;
  void enqueue_main(const Call& call) const;
  void enqueue_key_maps(const Call& call, const params::ExtendedHopperBackward& params) const;
  std::vector<std::byte> block_of(const Call& call) const;
  void enqueue_capture_sums(const Call& call, const CaptureCut& cut, DeviceAddress sums) const;
  void enqueue_captures(const Call& call, Workspace& workspace) const;
  void enqueue_finish(const Call& call, FunctionHandle function, Finish finish) const;

  std::shared_ptr<Gpu> gpu_;
  BackwardKernelParts parts_;
  BlockLayout block_;
  ModuleHandle module_ = nullptr;
  FunctionHandle prepare_ = nullptr;
  FunctionHandle main_ = nullptr;
  FunctionHandle finish_query_ = nullptr, finish_key_ = nullptr, finish_value_ = nullptr;
  FunctionHandle capture_gradients_ = nullptr;  ///< null where no load has a derivative
  FunctionHandle finish_capture_ = nullptr;
  FunctionHandle pyramid_ = nullptr;     ///< null where no table decides tiles
  FunctionHandle key_maps_ = nullptr;    ///< of a row that reads lengths
  ListFunctions list_functions_;         ///< of a row that walks lists
  std::unique_ptr<FaultRecord> faults_;  ///< in checked mode
};

}  // namespace tilewright::cuda
