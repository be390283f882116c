#pragma once

#include "backends/cuda/launch/forward_params.h"
#include "backends/cuda/launch/launch_site.h"

namespace tilewright::cuda {

/// Why a portable row that copies `copy_bytes` at a time cannot read these tensors; empty where it
/// can.
std::string portable_layout_rejection(std::int64_t copy_bytes, const ForwardInputs& inputs);

/// Fills the parameters for results where the caller wants them; no workspace, no counters.
Grid fill_portable(const LaunchSite& site, params::Portable& params);

}  // namespace tilewright::cuda
