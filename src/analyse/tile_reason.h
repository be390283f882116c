#pragma once

#include <string>

#include "analyse/mask_tape.h"
#include "analyse/tape_evaluator.h"

namespace tilewright::analyse {

/// Which comparison decides the tile that was evaluated last, or leaves it open, and over which
/// ranges: "%5 lt([256, 383], [0, 127]) is always false".
std::string tile_reason(const ir::Program& program, const MaskTape& tape,
                        const TapeEvaluator& evaluator);

}  // namespace tilewright::analyse
