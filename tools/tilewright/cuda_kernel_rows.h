#pragma once

#include <string>

namespace tilewright::cli {

/// Rows of the CUDA backend as lines of the kernel matrix, found by asking the planner for every
/// head dim; the same on every machine.
std::string cuda_kernel_rows();

}  // namespace tilewright::cli
