#pragma once

#include "backends/cpu/loaded_pass.h"
#include "ir/program.h"

namespace tilewright::cpu {

/// The score pass written down from its contract, one score after another: what the driver is
/// tested with, apart from any generated code. fp32 scores only. Program and bindings must outlive
/// it.
LoadedPass plain_pass(const ir::Program& program, const ir::Bindings& bindings);

}  // namespace tilewright::cpu
