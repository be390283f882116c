#include "backends/contract/backend.h"
#include "tilewright/error.h"

namespace tilewright::backends {

void Kernel::build_map(const MapLaunch& launch) const {
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "this backend makes no mask maps in a device's memory",
               .where = launch.plan.backend,
               .expected = "cuda",
               .got = launch.plan.backend + "/" + launch.plan.kernel,
               .hint = "MaskMap::build makes one on the host"});
}

std::size_t Kernel::launch_backward(const BackwardLaunch& launch) const {
  throw Error({.code = ErrorCode::kUnsupported,
               .what = "this backend has no backward",
               .where = launch.plan.backend,
               .expected = "cpu or reference",
               .got = launch.plan.backend + "/" + launch.plan.kernel,
               .hint = "choose a backend by EngineOptions::backend"});
}

}  // namespace tilewright::backends
