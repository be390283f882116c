#pragma once

#include "options.h"
#include "tilewright/engine.h"

namespace tilewright::cli {

/// The engine's options as command-line options, shared by the verbs that compute.
void add_engine_options(OptionList& list, EngineOptions& options);

}  // namespace tilewright::cli
