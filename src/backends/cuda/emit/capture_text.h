#pragma once

#include <string>

#include "backends/cuda/capture_shape.h"
#include "tilewright/problem.h"

namespace tilewright::cuda {

/// The variant struct of the kernel of captured gradients, inside the namespace.
std::string capture_variant_text(const Problem& problem, const CaptureShape& shape);

/// Its kernel and the end of each gradient, outside: `kernel` with the suffixes below.
std::string capture_kernels_text(const std::string& kernel, const CaptureShape& shape);

inline constexpr const char* kCaptureIncludes =
    "#include \"attention/capture_finish.cuh\"\n#include \"attention/capture_gradients.cuh\"\n";
inline constexpr const char* kCaptureSuffix = "_captures";
inline constexpr const char* kCaptureFinishSuffix = "_finish_capture";

/// Every backward source has the end of captured gradients: a captured tensor that score_mod does
/// not depend on gets zeros.
std::string capture_finish_text(const std::string& kernel);

}  // namespace tilewright::cuda
