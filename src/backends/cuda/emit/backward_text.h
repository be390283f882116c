#pragma once

#include <string>
#include <vector>

#include "backends/contract/backend.h"
#include "backends/cuda/backward_rows.h"
#include "backends/cuda/capture_shape.h"
#include "backends/cuda/emit/capture_plan.h"
#include "backends/cuda/parameter_block.h"

namespace tilewright::cuda {

/// One translation unit with the kernels of a backward, extern "C": `kernel_name` itself, and with
/// a suffix what runs before it and after it.
struct BackwardSource {
  std::string kernel_name;
  std::string text;
  std::vector<PyramidRequest> pyramids;
  std::vector<CaptureTargetPlan> capture_targets;
  CaptureShape capture_shape;
};

inline constexpr const char* kPrepareSuffix = "_prepare";
inline constexpr const char* kFinishQuerySuffix = "_finish_query";
inline constexpr const char* kFinishKeySuffix = "_finish_key";
inline constexpr const char* kFinishValueSuffix = "_finish_value";

/// What decides the text: the derivative's structure, the variant, query's dtype and the dims.
BackwardSource emit_backward(const backends::EmitRequest& request, const BackwardRow& row);

}  // namespace tilewright::cuda
