#pragma once

#include <memory>

#include "backends/contract/backend.h"
#include "backends/cpu/backward_call.h"
#include "backends/cpu/cpu_kernel.h"

namespace tilewright::cpu {

/// A micro-kernel and the pass of a structure's backward, ready to run.
class CpuBackwardKernel final : public backends::Kernel {
 public:
  CpuBackwardKernel(std::shared_ptr<CpuServices> services, const MicroKernel& micro_kernel,
                    std::shared_ptr<const LoadedPass> pass, ir::Derivative derivative);

  /// The most that a call takes, which asks for every gradient of the derivative.
  std::size_t workspace_bytes(const Program& program, const Problem& problem) const override;
  /// Throws: this is no kernel of the forward.
  std::size_t launch(const backends::Launch& launch) const override;
  std::size_t launch_backward(const backends::BackwardLaunch& launch) const override;

 private:
  std::shared_ptr<CpuServices> services_;
  const MicroKernel& micro_kernel_;
  std::shared_ptr<const LoadedPass> pass_;
  ir::Derivative derivative_;
};

}  // namespace tilewright::cpu
