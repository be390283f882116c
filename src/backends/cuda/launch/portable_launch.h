#pragma once

#include "backends/cuda/launch/forward_params.h"
#include "backends/cuda/launch/launch_site.h"

namespace tilewright::cuda {

/// Why a portable row that copies `copy_bytes` at a time cannot read these tensors; empty where it
/// can.
std::string portable_layout_rejection(std::int64_t copy_bytes, const ForwardInputs& inputs);

/// Whether a tensor's base, strides and row length allow copies of so many bytes: 16 or 4, or
/// single elements, which anything allows.
bool allows_copies(const TensorView& tensor, std::int64_t bytes);

/// Fills the parameters for results where the caller wants them; no workspace, no counters.
Grid fill_portable(const LaunchSite& site, params::Portable& params);

}  // namespace tilewright::cuda
