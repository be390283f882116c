#pragma once

#include "tilewright/mask_map.h"
#include "tilewright/program.h"

namespace tilewright {

/// Builds a map and compares it with the mask pair by pair: spans are in order, no live pair lies
/// outside them, no dead one inside a full span, and the count of live pairs is exact.
void expect_exact(const Program& program, const MaskMapOptions& options);

/// The same for a map that exists already.
void expect_holds(const MaskMap& map, const Program& program);

}  // namespace tilewright
