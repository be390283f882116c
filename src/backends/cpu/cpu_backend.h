#pragma once

#include <memory>

#include "backends/contract/backend.h"

namespace tilewright::cpu {

/// The CPU backend: micro-kernels for the two products, and a score pass that LLVM compiles for the
/// program (or, in a build without LLVM, that the tile interpreter runs).
std::shared_ptr<const backends::Backend> make_backend(const backends::BackendOptions& options);

}  // namespace tilewright::cpu
