#pragma once

#include "support/backward.h"
#include "support/case_table.h"
#include "support/cases.h"

namespace tilewright::cases {

/// The output gradients of a case of the problem table.
StepSpec step_spec_of(const CaseSpec& spec, const Program& program);

/// Runs one case forward and backward on an engine, with every gradient asked for, and compares
/// each with the fp64 meaning. Never throws for what the engine throws: that is a failure.
CaseResult run_gradient_case(const Case& problem, Engine& engine);

/// The same with an engine made for the target; skipped with its reason where it is unavailable.
CaseResult run_gradient_case(const Case& problem, const Target& target);

}  // namespace tilewright::cases
