#pragma once

#include <memory>

#include "backends/cpu/loaded_pass.h"
#include "backends/cpu/score_pass.h"
#include "ir/program.h"

namespace tilewright::cpu {

/// The score pass without a compiler: evaluates the program node by node over the columns of a row.
/// The same contract as generated code, slower; used where the build has no LLVM. Keeps a copy of
/// `program`.
std::shared_ptr<const LoadedPass> interpret_score_pass(const ir::Program& program,
                                                       const PassVariant& variant);

}  // namespace tilewright::cpu
