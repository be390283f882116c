// No mods.
#pragma once
#include "attention/mods_contract.cuh"

namespace tilewright::cuda {
using EmittedMods = IdentityMods;
}  // namespace tilewright::cuda
