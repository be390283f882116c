#pragma once

#include <string>

#include "fuzz/fuzz_case.h"

namespace tilewright::cases {

/// Runs a case on every micro-kernel of this machine and through the text form. Empty where every
/// target agrees with the fp64 meaning; else what differs.
std::string failure_of(const FuzzCase& problem);

/// A smaller case that still fails: shorter lengths, fewer heads, plainer layouts, subtrees
/// replaced by leaves.
FuzzCase shrink(const FuzzCase& failing);

/// The command that runs a case again.
std::string reproduction(const FuzzCase& problem);

}  // namespace tilewright::cases
