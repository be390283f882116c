#pragma once

#include "kernels/cpu/micro_kernel.h"

namespace tilewright::cases {

/// A micro-kernel of plain loops with bf16 operands and no transposed product: the way of the
/// vdpbf16ps and AMX kernels, on a machine that has neither.
cpu::MicroKernel narrow_kernel();

}  // namespace tilewright::cases
