#pragma once

#include <string>

#include "tilewright/engine.h"

namespace tilewright::cli {

/// Repeats the call in a folder that TILEWRIGHT_RECORD made (docs/record.md) with the recorded
/// options where `overrides` leaves a default. Without recorded data, floats are random and
/// integers 0. Prints what it does; throws what the call throws.
int replay_call(const std::string& folder, const EngineOptions& overrides);

}  // namespace tilewright::cli
