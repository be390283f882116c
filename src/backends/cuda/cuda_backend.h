#pragma once

#include <memory>

#include "backends/contract/backend.h"

namespace tilewright::cuda {

/// Opens nothing until a CUDA tensor or `doctor` asks.
std::shared_ptr<const backends::Backend> make_backend(const backends::BackendOptions& options);

}  // namespace tilewright::cuda
