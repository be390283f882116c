#pragma once

#include "support/cases.h"

namespace tilewright::cases {

/// Runs one case forward and backward on an engine, with every gradient asked for, and compares
/// each with the fp64 meaning. Never throws for what the engine throws: that is a failure.
CaseResult run_gradient_case(const Case& problem, Engine& engine);

/// The same with an engine made for the target; skipped with its reason where it is unavailable.
CaseResult run_gradient_case(const Case& problem, const Target& target);

}  // namespace tilewright::cases
