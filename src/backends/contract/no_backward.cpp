#include "backends/contract/backend.h"
#include "tilewright/error.h"

namespace tilewright::backends {

std::size_t Kernel::launch_backward(const BackwardLaunch& launch) const {
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "this backend has no backward",
               .where = launch.plan.backend,
               .expected = "cpu or reference",
               .got = launch.plan.backend + "/" + launch.plan.kernel,
               .hint = "choose a backend by EngineOptions::backend"});
}

}  // namespace tilewright::backends
