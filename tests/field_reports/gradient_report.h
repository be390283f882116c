#pragma once

#include "field_reports/report.h"
#include "support/backward.h"
#include "support/comparison.h"

namespace tilewright::cases {

/// Forward and backward on the interpreter and every micro-kernel that this machine has, every
/// gradient compared with the fp64 meaning; those of the widest micro-kernel.
Gradients expect_gradients(const Program& program, TrainingStep& step,
                           const CallOptions& options = {});

/// Normal operands and output gradients.
TrainingStep random_step(const Extents& extents, DType dtype, std::uint64_t seed,
                         const StepSpec& spec = {});

/// The largest |element|; NaN where there is one.
double largest(const TensorView& view);

}  // namespace tilewright::cases
