#pragma once

#include <memory>

#include "backends/contract/backend.h"

namespace tilewright::reference {

/// The fp64 meaning as a backend: slow, simple, and what every other backend is compared with.
std::shared_ptr<const backends::Backend> make_backend();

}  // namespace tilewright::reference
