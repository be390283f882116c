#pragma once

#include <vector>

#include "tile_harness.h"

namespace tilewright::test {

/// Runs tiles with fresh rows and compares maximum, probabilities and sum with the interpreter.
/// Adds a failure to the running test for each difference.
void expect_pass_matches(const PassMaker& maker, const ir::Program& program,
                         const ir::Bindings& bindings, const cpu::PassVariant& variant,
                         const std::vector<TilePlace>& places);

}  // namespace tilewright::test
