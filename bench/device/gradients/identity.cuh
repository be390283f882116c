// The score plus something that does not depend on it; the mask is asked row by row.
#pragma once
#include "attention/backward_mods_contract.cuh"

namespace tilewright::cuda {
using EmittedGradient = IdentityGradient;
}  // namespace tilewright::cuda
