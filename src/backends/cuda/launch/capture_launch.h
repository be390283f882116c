#pragma once

#include <span>
#include <vector>

#include "backends/cuda/capture_shape.h"
#include "backends/cuda/emit/capture_plan.h"
#include "backends/cuda/launch/backward_space.h"
#include "backends/cuda/launch/capture_params.h"

namespace tilewright::cuda {

/// What a kernel of captured gradients was compiled for.
struct CaptureKernelPlan {
  std::vector<CaptureTargetPlan> targets;
  CaptureShape shape;
  bool has_shared() const noexcept;
};

/// How a call's work is divided, and the fp32 sums of each target.
struct CaptureCut {
  struct Target {
    std::int64_t elements = 0;
    std::int64_t copies = 1;
    std::size_t at_bytes = 0;  ///< from the workspace's begin
  };
  params::CaptureSchedule schedule;
  std::vector<Target> targets;
  std::size_t bytes = 0;  ///< of workspace; cleared before the kernel
};

/// Throws Error{kUnsupported} for more gradients than a kernel's parameters hold, and for tensors
/// whose elements a fixed order cannot number.
/// @param block_rows  with span lists, query rows of a block; a tile lies in one
CaptureCut capture_cut(const CaptureKernelPlan& plan, const Program& program,
                       const Problem& problem, int multiprocessors, std::int64_t block_rows = 0);

params::Captures capture_params(const BackwardSite& site, const BackwardCut& cut,
                                const BackwardSpace& space, const CaptureCut& captures,
                                DeviceAddress sums);

/// The end of one captured gradient; without sums (no target) zeros are written.
params::CaptureFinish capture_finish_params(const TensorView& gradient,
                                            const CaptureCut::Target* target, DeviceAddress sums);
std::int64_t capture_finish_blocks(const params::CaptureFinish& params) noexcept;

}  // namespace tilewright::cuda
