#pragma once

#include <memory>

#include "backends/contract/backend.h"
#include "backends/cpu/loaded_pass.h"
#include "backends/cpu/microkernels.h"
#include "backends/cpu/worker_pool.h"
#include "backends/cpu/workspace.h"

namespace tilewright::cpu {

/// What kernels of one backend share.
struct CpuServices {
  explicit CpuServices(int threads) : workers(threads) {}
  WorkerPool workers;
  WorkspacePool workspace;
};

/// A micro-kernel and a score pass, ready to run.
class CpuKernel final : public backends::Kernel {
 public:
  CpuKernel(std::shared_ptr<CpuServices> services, const MicroKernel& micro_kernel,
            std::shared_ptr<const LoadedPass> pass, plan::Plan plan);

  std::size_t workspace_bytes(const Program& program, const Problem& problem) const override;
  std::size_t launch(const backends::Launch& launch) const override;

 private:
  std::shared_ptr<CpuServices> services_;
  const MicroKernel& micro_kernel_;
  std::shared_ptr<const LoadedPass> pass_;
  plan::Plan plan_;
};

}  // namespace tilewright::cpu
