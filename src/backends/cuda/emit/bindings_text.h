#pragma once

#include <span>
#include <string>

#include "backends/cuda/parameter_block.h"
#include "ir/program.h"

namespace tilewright::cuda {

/// `struct Bindings` of emitted mods: the parameter block, field by field (BlockLayout).
std::string bindings_text(const ir::Program& program, std::size_t numbers,
                          std::span<const PyramidRequest> pyramids, std::size_t bytes);

}  // namespace tilewright::cuda
