#pragma once

#include "backends/cuda/launch/backward_launch.h"

namespace tilewright::cuda {

/// Fills the parameters of the portable backward kernel.
void fill_portable_backward(const BackwardSite& site, const BackwardCut& cut,
                            const BackwardSpace& space, params::PortableBackward& params);

}  // namespace tilewright::cuda
