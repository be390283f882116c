#pragma once

#include "backends/cuda/launch/forward_params.h"
#include "backends/cuda/launch/launch_site.h"

namespace tilewright::cuda {

/// Why the Hopper kernels cannot read or write these tensors where they lie; empty where they can.
std::string hopper_layout_rejection(const ForwardInputs& inputs, const ForwardOutputs& outputs);

/// Two zeroed counters that no kernel that may run beside this one uses.
DeviceAddress counters_for(const LaunchSite& site);

/// What a row that walks lists adds to the parameters.
params::ItemLists item_lists(const LaunchSite& site);

/// Fills the parameters, tensor maps included. Counters for a stream under capture stay with its
/// graph.
Grid fill_hopper(const LaunchSite& site, params::Hopper& params);

}  // namespace tilewright::cuda
