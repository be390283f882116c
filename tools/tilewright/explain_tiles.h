#pragma once

#include <string>

#include "tilewright/problem.h"
#include "tilewright/program.h"

namespace tilewright::cli {

/// How the mask's tiles fall into classes, with the analysis's reason for the first tile of each
/// class of batch entry 0, head 0.
std::string tiles_text(const Program& program, const Problem& problem);

}  // namespace tilewright::cli
