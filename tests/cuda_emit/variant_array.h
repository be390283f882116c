#pragma once

#include <vector>

#include "cuda_emit/kernel_variant.h"

namespace tilewright::test {

/// Kernel variants such that every pair of two of their properties (what a call demands, E and Ev,
/// dtype, program, option, architecture) appears in one: one array over the Hopper rows and one
/// over the portable rows on every architecture. Deterministic; checked in as kernel_variants.txt.
std::vector<VariantLine> covering_variants();

/// Every combination that some row serves.
std::vector<VariantLine> all_variants();

}  // namespace tilewright::test
