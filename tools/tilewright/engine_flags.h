#pragma once

#include <CLI/CLI.hpp>

#include "tilewright/engine.h"

namespace tilewright::cli {

/// The engine's options as command-line options, shared by the verbs that compute.
void add_engine_options(CLI::App& app, EngineOptions& options);

}  // namespace tilewright::cli
