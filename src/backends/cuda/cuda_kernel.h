#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/contract/backend.h"
#include "backends/cuda/device/fault_record.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/kernel_row.h"
#include "backends/cuda/launch/list_launch.h"
#include "backends/cuda/parameter_block.h"
#include "backends/cuda/reporting_kernel.h"

namespace tilewright::cuda {

/// What a kernel is loaded from, beside its machine code.
struct KernelParts {
  KernelRow row;
  std::string kernel_name;
  std::int64_t shared_bytes = 0;
  std::vector<PyramidRequest> pyramids;
  bool reports = false;     ///< checked mode
  bool makes_maps = false;  ///< has a kernel that makes a mask map
};

/// A loaded kernel on one device.
class CudaKernel final : public ReportingKernel {
 public:
  /// Loads into the device's primary context. Throws Error{kDevice}.
  CudaKernel(std::shared_ptr<Gpu> gpu, const backends::Binary& binary, KernelParts parts,
             const ir::Program& program);
  ~CudaKernel() override;

  std::size_t workspace_bytes(const Program& program, const Problem& problem) const override;
  std::size_t span_bytes(const BlockLists* lists, const MaskMap* map) const override;
  std::size_t launch(const backends::Launch& launch) const override;

  void build_map(const backends::MapLaunch& launch) const override;

  void check_errors() const override;

 private:
  void enqueue(const LaunchSite& site) const;
  std::vector<std::byte> packed_block(const LaunchSite& site) const;
  Grid fill_extended(const LaunchSite& site, params::ExtendedHopper& params) const;
  void load(const backends::Binary& binary);
  void load_companions();

  std::shared_ptr<Gpu> gpu_;
  KernelParts parts_;
  BlockLayout block_;
  ModuleHandle module_ = nullptr;
  FunctionHandle function_ = nullptr;
  // What a call launches beside the kernel itself; null where it does not.
  FunctionHandle pyramid_function_ = nullptr;
  FunctionHandle merge_function_ = nullptr;
  FunctionHandle value_maps_function_ = nullptr;
  ListFunctions list_functions_;
  FunctionHandle map_function_ = nullptr;
  std::unique_ptr<FaultRecord> faults_;  ///< in checked mode
};

}  // namespace tilewright::cuda
