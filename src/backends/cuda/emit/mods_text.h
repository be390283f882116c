#pragma once

#include <string>
#include <vector>

#include "backends/contract/backend.h"
#include "backends/cuda/emit/capture_plan.h"
#include "backends/cuda/parameter_block.h"

namespace tilewright::cuda {

/// `struct EmittedMods` against attention/mods_contract.cuh, without includes.
struct ModsText {
  std::string text;
  std::string gradient;  ///< `struct EmittedGradient`, where the request has a derivative
  std::string captured;  ///< `struct EmittedCaptures`, where it has loads
  CapturePlan captures;
  std::vector<PyramidRequest> pyramids;
  bool has_mask = false;
  bool has_score = false;
};

/// Depends on the structure, the variant and `fast_functions` only.
ModsText mods_text(const backends::EmitRequest& request);

}  // namespace tilewright::cuda
