#pragma once

#include <string>
#include <vector>

#include "backends/contract/backend.h"
#include "backends/cuda/kernel_row.h"
#include "backends/cuda/parameter_block.h"

namespace tilewright::cuda {

/// One translation unit that includes kernel files by their path below kernels/cuda
/// (`#include "attention/hopper_forward.cuh"`); the runtime replaces includes by the files' text.
struct ForwardSource {
  /// extern "C" name of the kernel, readable in a profiler and a C identifier, at most 100
  /// characters: "attention_hopper_w2_n128_e128_v128_bf16_causal". Parameters: the family's
  /// parameter struct by value, then the Bindings of BlockLayout by value, both
  /// `const __grid_constant__`; a program without captures and numbers still has the block's head.
  std::string kernel_name;
  std::string text;
  std::vector<PyramidRequest> pyramids;  ///< at most 8
};

/// Whether products must be scaled before their maximum is looked for and dead pairs are dropped: a
/// scale of zero or below, as fp32 sees it, or NaN.
bool scales_first(const Problem& problem) noexcept;

/// What a forward variant is emitted from. Beside the structure these decide the text, and are part
/// of the kernel's fast key:
///   variant.fits_int32   integer nodes and offsets in 32 bits
///   variant.checked      live subscripts or divisors are not proven: every load is predicated by
///                        its bounds and reads 0 outside (semantics R8), divisors by != 0
///   variant.reports      (checked mode) such a fault also fills the ErrorRecord once
///   problem: dtypes, head_dim, value_dim, outputs.max_scores (tracks the maximum), and
///   scales_first()
/// Nothing else of the problem may enter the text: lengths, strides, numbers and bases come from
/// the parameter block.
ForwardSource emit_forward(const backends::EmitRequest& request, const KernelRow& row);

}  // namespace tilewright::cuda
