#include "backends/list.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/reference/reference_backend.h"

namespace tilewright::backends {

std::vector<std::shared_ptr<const Backend>> make_backends(const BackendOptions& options) {
  return {cpu::make_backend(options), cuda::make_backend(options), reference::make_backend()};
}

}  // namespace tilewright::backends
