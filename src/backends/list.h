#pragma once

#include <memory>
#include <vector>

#include "backends/contract/backend.h"

namespace tilewright::backends {

/// Every backend compiled into this library, the default for its device kind first.
std::vector<std::shared_ptr<const Backend>> make_backends(const BackendOptions& options);

}  // namespace tilewright::backends
